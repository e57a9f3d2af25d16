"""Losses: a float64 reference, independence of how a minibatch is split, and finite results at any input."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tests.components.optimizers import reference
from tests.components.optimizers.batches import AGGREGATIONS, OBJECTIVES, loss_inputs, normalised, objective, rows
from tsrflow.components.optimizers.aggregation import aggregate, normaliser
from tsrflow.components.optimizers.config import GRPOConfig, PPOConfig
from tsrflow.components.optimizers.grpo import GRPO
from tsrflow.components.optimizers.ppo import PPO
from tsrflow.components.optimizers.surrogate import clipped_surrogate, kl_k3, sequence_log_ratio, value_loss
from tsrflow.components.optimizers.types import LossInputs, LossOutputs
from tsrflow.config.base import Aggregation, OptimizerConfig

EXTREME = [-1e4, -200.0, -20.0, -1.0, 0.0, 1.0, 20.0, 200.0, 1e4]
logps = st.floats(-3, 0, allow_nan=False, width=32)


def trainable(inputs: LossInputs) -> tuple[LossInputs, list[Tensor]]:
    """``inputs`` whose log-probs, entropy and values are leaves that collect gradients."""
    names = [n for n in ("logprobs", "entropy", "values") if getattr(inputs, n) is not None]
    leaves = {name: getattr(inputs, name).clone().requires_grad_() for name in names}
    return replace(inputs, **leaves), list(leaves.values())


# --- single terms ---


@pytest.mark.parametrize(
    ("ratio", "advantage", "loss", "clipped"),
    [
        (1.0, 2.0, -2.0, False),
        (1.28, 2.0, -2.56, False),
        (1.5, 2.0, -2.56, True),  # above 1 + .28
        (1.5, -2.0, 3.0, False),  # moving away from a bad token's old probability the wrong way is never forgiven
        (0.5, -2.0, 1.6, True),  # below 1 - .2
        (0.5, 2.0, -1.0, False),
        (1.5, 0.0, 0.0, False),
    ],
)
def test_clipping_by_hand(ratio: float, advantage: float, loss: float, clipped: bool) -> None:
    new, old = torch.tensor([math.log(ratio)], dtype=torch.float64), torch.zeros(1, dtype=torch.float64)
    terms, ratios, mark = clipped_surrogate(new - old, torch.tensor([advantage], dtype=torch.float64), 0.2, 0.28)
    assert terms.item() == pytest.approx(loss, abs=1e-12)
    assert ratios.item() == pytest.approx(ratio)
    assert mark.item() is clipped


def test_a_clipped_token_has_no_gradient() -> None:
    new = torch.tensor([0.5, 0.1, -0.5, -0.1], requires_grad=True)
    terms, _, _ = clipped_surrogate(new, torch.tensor([1.0, 1.0, -1.0, -1.0]), 0.2, 0.28)
    torch.autograd.backward(terms.sum())
    assert new.grad is not None
    assert (new.grad == 0).tolist() == [True, False, True, False]


@given(logps, logps)
def test_k3_equals_its_definition_and_is_not_negative(new: float, ref: float) -> None:
    mine = kl_k3(torch.tensor([new], dtype=torch.float64), torch.tensor([ref], dtype=torch.float64)).item()
    assert mine == pytest.approx(reference.k3(new, ref), abs=1e-12)
    assert mine >= -1e-15


def test_k3_estimates_the_divergence_without_bias() -> None:
    policy = torch.tensor([0.7, 0.2, 0.1], dtype=torch.float64)
    other = torch.tensor([0.2, 0.3, 0.5], dtype=torch.float64)
    expected = (policy * (policy / other).log()).sum()
    torch.testing.assert_close((policy * kl_k3(policy.log(), other.log())).sum(), expected)


@pytest.mark.parametrize("log_ratio", EXTREME)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_extreme_log_ratios_stay_finite(log_ratio: float, dtype: torch.dtype) -> None:
    for advantage in (-3.0, 0.0, 3.0):
        new = torch.zeros(1, dtype=dtype, requires_grad=True)
        past = torch.full((1,), -log_ratio, dtype=dtype)
        terms, ratio, _ = clipped_surrogate(new - past, torch.full((1,), advantage, dtype=dtype), 0.2, 0.28)
        total = (terms + kl_k3(new, past) + kl_k3(new, -past)).sum()
        torch.autograd.backward(total)
        assert new.grad is not None
        assert all(torch.isfinite(x).all() for x in (total, ratio, new.grad))


@pytest.mark.parametrize("log_ratio", [1.0, 30.0, 1e4, -1.0, -30.0, -1e4])
def test_the_kl_penalty_always_pulls_towards_the_reference(log_ratio: float) -> None:
    new = torch.zeros(1, requires_grad=True)
    torch.autograd.backward(kl_k3(new, torch.full((1,), log_ratio)).sum())
    assert new.grad is not None
    assert math.copysign(1.0, new.grad.item()) == -math.copysign(1.0, log_ratio)


@given(*[st.floats(-2, 2, allow_nan=False, width=32)] * 3, st.sampled_from([None, 0.2, 0.5]))
def test_value_loss_equals_the_reference(value: float, old: float, target: float, clip: float | None) -> None:
    now, before, goal = torch.tensor([[value], [old], [target]], dtype=torch.float64)
    mine = value_loss(now, before, goal, clip)
    assert mine.item() == pytest.approx(reference.value_loss(value, old, target, clip), abs=1e-12)


# --- whole losses ---


def expected_loss(name: str, inputs: LossInputs, config: OptimizerConfig) -> tuple[float, dict[str, float]]:
    """The loss and metric sums, token by token in plain Python."""
    policy, value = reference.Mean(config), reference.Mean(config)
    sums = dict.fromkeys(("tokens", "policy_loss", "entropy", "ratio", "kl", "value_loss", "value_tokens"), 0.0)
    for b in range(len(inputs.weights)):
        live = [t for t, w in enumerate(inputs.weights[b].tolist()) if w > 0]
        gaps = {t: inputs.logprobs[b, t].item() - inputs.old_logprobs[b, t].item() for t in live}
        if name == "gspo" and live:
            gaps = dict.fromkeys(live, math.fsum(gaps.values()) / len(live))
        terms = []
        for t in live:
            found = {"tokens": 1.0, "entropy": inputs.entropy[b, t].item(), "ratio": math.exp(gaps[t])}
            found["policy_loss"] = reference.surrogate(
                gaps[t], 0.0, inputs.advantages[b, t].item(), config.clip_low, config.clip_high
            )
            term = found["policy_loss"] - config.entropy * found["entropy"]
            if inputs.ref_logprobs is not None:
                found["kl"] = reference.k3(inputs.logprobs[b, t].item(), inputs.ref_logprobs[b, t].item())
                term += config.kl_in_loss * found["kl"]
            terms.append((inputs.weights[b, t].item(), term))
            for key, figure in found.items():
                sums[key] += inputs.weights[b, t].item() * figure
        policy.add(terms)
        if inputs.values is not None and inputs.old_values is not None and inputs.returns is not None:
            critic_weights = inputs.weights if inputs.critic_weights is None else inputs.critic_weights
            errors = []
            for t, w in enumerate(critic_weights[b].tolist()):
                figures = [x[b, t].item() for x in (inputs.values, inputs.old_values, inputs.returns)]
                if w > 0:
                    errors.append((w, reference.value_loss(figures[0], figures[1], figures[2], 0.2)))
            value.add(errors)
            sums["value_loss"] += math.fsum(w * error for w, error in errors)
            sums["value_tokens"] += math.fsum(w for w, _ in errors)
    return policy.value + 0.5 * value.value, sums


@pytest.mark.parametrize("dropped", [0, 3])
@pytest.mark.parametrize("aggregation", AGGREGATIONS)
@pytest.mark.parametrize("name", OBJECTIVES)
def test_losses_equal_the_reference(name: str, aggregation: Aggregation, dropped: int) -> None:
    target = objective(name, aggregation=aggregation, max_length=11, entropy=0.05, kl=0.3)
    inputs = normalised(loss_inputs(3, critic=name == "ppo", reference=True, dropped=dropped), target.config)
    result = target.loss(inputs)
    loss, sums = expected_loss(name, inputs, target.config)
    assert result.loss.item() == pytest.approx(loss, rel=1e-10)
    if name != "ppo":
        sums = {key: figure for key, figure in sums.items() if not key.startswith("value")}
    assert {*sums, "clip_fraction"} == set(result.metrics)
    for key, figure in sums.items():
        assert result.metrics[key].item() == pytest.approx(figure, rel=1e-10), key
    assert not any(metric.requires_grad for metric in result.metrics.values())


def test_clip_fraction_counts_weighted_tokens() -> None:
    inputs = LossInputs(
        logprobs=torch.tensor([[0.0, 1.0, 1.0, 5.0]]),
        old_logprobs=torch.zeros(1, 4),
        entropy=torch.zeros(1, 4),
        advantages=torch.tensor([[1.0, 1.0, -1.0, 1.0]]),
        weights=torch.tensor([[1.0, 0.5, 1.0, 0.0]]),
        normaliser=torch.tensor(2.5),
    )
    metrics = GRPO(GRPOConfig()).loss(inputs).metrics
    assert metrics["clip_fraction"].item() == 0.5 and metrics["tokens"].item() == 2.5
    assert "kl" not in metrics and "value_loss" not in metrics


def backward(target: Any, inputs: LossInputs, parts: Sequence[Sequence[int]]) -> tuple[list[Tensor], float]:
    """Gradients and summed loss of ``inputs`` fed in ``parts``."""
    inputs, leaves = trainable(inputs)
    losses: list[LossOutputs] = [target.loss(rows(inputs, part)) for part in parts]
    for part in losses:
        torch.autograd.backward(part.loss)
    return [leaf.grad for leaf in leaves if leaf.grad is not None], sum(part.loss.item() for part in losses)


@pytest.mark.parametrize("dropped", [0, 3])
@pytest.mark.parametrize("aggregation", AGGREGATIONS)
@pytest.mark.parametrize("name", OBJECTIVES)
def test_one_times_eight_equals_eight_times_one(name: str, aggregation: Aggregation, dropped: int) -> None:
    target = objective(name, aggregation=aggregation, kl=0.1)
    inputs = normalised(loss_inputs(5, critic=name == "ppo", reference=True, dropped=dropped), target.config)
    whole, loss = backward(target, inputs, [range(8)])
    for parts in ([[i] for i in range(8)], [[0, 3], [1, 2, 4, 5, 6], [7]]):
        split, split_loss = backward(target, inputs, parts)
        assert split_loss == pytest.approx(loss, rel=1e-12)
        for a, b in zip(whole, split, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-15)
    assert len(whole) == (3 if name == "ppo" else 2)
    assert all(bool(grad.any()) for grad in whole)
    if dropped and name == "ppo":
        assert not whole[0][-dropped:].any() and not whole[1][-dropped:].any() and whole[2][-dropped:].any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", OBJECTIVES)
def test_extreme_ratios_leave_every_objective_finite(name: str, dtype: torch.dtype) -> None:
    """Log-probs that moved by up to 10,000, both ways, with large advantages, values and a far reference."""
    target = objective(name, kl=0.1)
    inputs = normalised(loss_inputs(6, critic=name == "ppo", reference=True), target.config)
    shift = torch.tensor(EXTREME, dtype=torch.float64)[torch.arange(56) % len(EXTREME)].view(8, 7)
    assert inputs.ref_logprobs is not None
    changes = {"logprobs": inputs.logprobs + shift, "ref_logprobs": inputs.ref_logprobs - shift}
    inputs = replace(inputs, advantages=inputs.advantages * 1e3, **changes)
    names = [n for n in LossInputs.__slots__ if getattr(inputs, n) is not None]
    inputs = replace(inputs, **{n: getattr(inputs, n).to(dtype) for n in names})
    grads, loss = backward(target, inputs, [range(8)])
    assert math.isfinite(loss) and all(bool(torch.isfinite(grad).all()) for grad in grads)
    assert all(grad.dtype == dtype for grad in grads)


def test_the_ratio_of_a_trajectory_by_hand() -> None:
    """Ratios 2, 8 and, not sampled, 100: geometric mean 4, clipped at 1.5. The slope of 4 in either log-prob is 4."""
    new = torch.tensor([[2.0, 8.0, 100.0]], dtype=torch.float64).log().requires_grad_()
    live = torch.tensor([[True, True, False]])
    log_ratio = sequence_log_ratio(new, torch.zeros(1, 3, dtype=torch.float64), live)
    torch.testing.assert_close(log_ratio[live].exp().tolist(), [4.0, 4.0])
    for advantage, loss, slope in ((-1.0, 4.0, 4.0), (1.0, -1.5, 0.0)):
        advantages = torch.full((1, 3), advantage, dtype=torch.float64)
        terms, _, _ = clipped_surrogate(log_ratio, advantages, 0.5, 0.5)
        torch.testing.assert_close(terms[live].tolist(), [loss, loss])
        (grad,) = torch.autograd.grad(terms[live].sum(), new, retain_graph=True)
        torch.testing.assert_close(grad.tolist(), [[slope, slope, 0.0]])


def test_gspo_has_the_gradient_of_the_sequence_objective() -> None:
    """With one advantage per trajectory and nothing shared: that of mean over trajectories of -min(s A, clip(s) A)."""
    target = objective("gspo", entropy=0.0, clip_low=0.05, clip_high=0.05)
    inputs = loss_inputs(11)
    live = inputs.weights > 0
    inputs = replace(inputs, weights=live.double(), advantages=inputs.advantages[:, -1:] * live)
    inputs = normalised(inputs, target.config)
    (found, _), loss = backward(target, inputs, [range(8)])
    logprobs = inputs.logprobs.clone().requires_grad_()
    ratio = (((logprobs - inputs.old_logprobs) * live).sum(dim=1) / live.sum(dim=1)).exp()
    advantage = inputs.advantages[:, -1]
    direct = -torch.minimum(ratio * advantage, ratio.clamp(0.95, 1.05) * advantage).mean()
    torch.autograd.backward(direct)
    assert loss == pytest.approx(direct.item(), rel=1e-12)
    assert logprobs.grad is not None and bool(logprobs.grad.any())
    assert bool((logprobs.grad == 0).all(dim=1).any())  # some trajectory is clipped as a whole
    torch.testing.assert_close(found, logprobs.grad, rtol=1e-10, atol=1e-15)


def test_a_constant_divisor_keeps_long_trajectories_heavy() -> None:
    """Two trajectories of one and three tokens: sums 1 and 3 over (2 * 4) with constant, means 1 and 1 over 2 else."""
    weights = torch.tensor([[1.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    terms = torch.ones(2, 3)
    scale = normaliser(weights, "constant", 4)
    assert scale.item() == 8.0
    assert aggregate(terms, weights, scale, "constant").item() == 0.5
    assert aggregate(terms, weights, normaliser(weights, "sequence", 4), "sequence").item() == 1.0


def test_normaliser_and_means_by_hand() -> None:
    weights = torch.tensor([[1.0, 1.0, 0.0], [0.5, 0.0, 0.0], [0.0, 0.0, 0.0]])
    terms = torch.tensor([[1.0, 3.0, 50.0], [4.0, 50.0, 50.0], [50.0, 50.0, 50.0]])
    assert normaliser(weights, "token", 9).item() == 2.5
    assert normaliser(weights, "sequence", 9).item() == 2.0
    assert aggregate(terms, weights, torch.tensor(2.5), "token").item() == pytest.approx(6.0 / 2.5)
    assert aggregate(terms, weights, torch.tensor(2.0), "sequence").item() == pytest.approx((2.0 + 4.0) / 2)


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_nothing_to_train_on_is_zero_and_not_nan(aggregation: Aggregation) -> None:
    inputs = loss_inputs(1)
    none = torch.zeros_like(inputs.weights)
    inputs, leaves = trainable(replace(inputs, weights=none, normaliser=normaliser(none, aggregation, 9)))
    loss = objective("grpo", aggregation=aggregation).loss(inputs).loss
    torch.autograd.backward(loss)
    assert loss.item() == 0.0
    assert all(leaf.grad is not None and not leaf.grad.any() for leaf in leaves)


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
@pytest.mark.parametrize("garbage", [math.nan, math.inf, 1e30])
def test_what_stands_on_other_tokens_reaches_no_loss_and_no_gradient(garbage: float, aggregation: Aggregation) -> None:
    clean = loss_inputs(9, critic=True, reference=True)
    clean = replace(clean, normaliser=normaliser(clean.weights, aggregation, 9))
    dirty = {
        name: torch.where(clean.weights > 0, getattr(clean, name), garbage)
        for name in LossInputs.__slots__
        if name not in ("weights", "normaliser") and getattr(clean, name) is not None
    }
    target = objective("ppo", aggregation=aggregation, kl=0.2)
    expected, loss = backward(target, clean, [range(8)])
    found, dirty_loss = backward(target, replace(clean, **dirty), [range(8)])
    assert dirty_loss == loss
    assert all(torch.equal(a, b) for a, b in zip(expected, found, strict=True))


def test_a_group_without_spread_has_no_policy_gradient() -> None:
    """Zero advantages: with the entropy bonus off, nothing moves whatever the ratio is."""
    inputs = loss_inputs(2)
    inputs = replace(inputs, advantages=torch.zeros_like(inputs.advantages))
    inputs, leaves = trainable(replace(inputs, normaliser=normaliser(inputs.weights, "token", 9)))
    torch.autograd.backward(objective("grpo", entropy=0.0).loss(inputs).loss)
    assert all(leaf.grad is not None and not leaf.grad.any() for leaf in leaves)


@pytest.mark.parametrize("missing", ["values", "old_values", "returns"])
def test_ppo_loss_without_a_critic_is_refused(missing: str) -> None:
    absent: dict[str, Any] = {missing: None}
    with pytest.raises(ValueError, match="values"):
        PPO(PPOConfig()).loss(replace(loss_inputs(0, critic=True), **absent))


def test_a_shared_prefix_counts_once_with_the_mean_advantage() -> None:
    """Two leaves share their first token (weight 1/2 in each): its gradient is that of one token with advantage
    (1 - 3) / 2, and the normaliser counts three tokens, not four."""
    shared = LossInputs(
        logprobs=torch.zeros(2, 2, dtype=torch.float64),
        old_logprobs=torch.zeros(2, 2, dtype=torch.float64),
        entropy=torch.zeros(2, 2, dtype=torch.float64),
        advantages=torch.tensor([[1.0, 1.0], [-3.0, -3.0]], dtype=torch.float64),
        weights=torch.tensor([[0.5, 1.0], [0.5, 1.0]], dtype=torch.float64),
        normaliser=torch.tensor(3.0, dtype=torch.float64),
    )
    assert normaliser(shared.weights, "token", 9).item() == 3.0
    grads, _ = backward(objective("grpo", entropy=0.0), shared, [[0, 1]])
    torch.testing.assert_close(grads[0][:, 0].sum().item(), 1.0 / 3.0)
    torch.testing.assert_close(grads[0][:, 1].tolist(), [-1.0 / 3.0, 1.0])
