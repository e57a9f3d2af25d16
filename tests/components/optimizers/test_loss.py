"""Losses: a float64 reference, independence of how a minibatch is split, and finite results at any input."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from tsrflow.components.optimizers.functions import aggregate, clipped_surrogate, kl_k3, normaliser, value_loss

from tests.components.optimizers import reference
from tests.components.optimizers.batches import loss_inputs, rows
from tsrflow.components.optimizers.config import GRPOConfig, PPOConfig
from tsrflow.components.optimizers.grpo import GRPO
from tsrflow.components.optimizers.ppo import PPO
from tsrflow.components.optimizers.types import LossInputs, LossOutputs

Aggregation = Literal["token", "sequence"]
EXTREME = [-1e4, -200.0, -20.0, -1.0, 0.0, 1.0, 20.0, 200.0, 1e4]
logps = st.floats(-3, 0, allow_nan=False, width=32)


def objective(name: str, aggregation: Aggregation, **changes: Any) -> GRPO | PPO:
    if name == "grpo":
        return GRPO(GRPOConfig(aggregation=aggregation, **changes))
    return PPO(PPOConfig(aggregation=aggregation, **changes))


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
    terms, ratios, mark = clipped_surrogate(new, old, torch.tensor([advantage], dtype=torch.float64), 0.2, 0.28)
    assert terms.item() == pytest.approx(loss, abs=1e-12)
    assert ratios.item() == pytest.approx(ratio)
    assert mark.item() is clipped


def test_a_clipped_token_has_no_gradient() -> None:
    new = torch.tensor([0.5, 0.1, -0.5, -0.1], requires_grad=True)
    terms, _, _ = clipped_surrogate(new, torch.zeros(4), torch.tensor([1.0, 1.0, -1.0, -1.0]), 0.2, 0.28)
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
        terms, ratio, _ = clipped_surrogate(new, past, torch.full((1,), advantage, dtype=dtype), 0.2, 0.28)
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


def expected_loss(
    inputs: LossInputs, aggregation: Aggregation, entropy: float, kl: float, value: float
) -> tuple[float, dict[str, float]]:
    """The loss and metric sums, token by token in plain Python."""
    weights = inputs.weights.tolist()
    per_row, sums = [], dict.fromkeys(("tokens", "policy_loss", "entropy", "ratio", "kl", "value_loss"), 0.0)
    for b, row in enumerate(weights):
        total = 0.0
        for t, w in enumerate(row):
            if w == 0:
                continue
            new, old = inputs.logprobs[b, t].item(), inputs.old_logprobs[b, t].item()
            policy = reference.surrogate(new, old, inputs.advantages[b, t].item(), 0.2, 0.28)
            term = policy - entropy * inputs.entropy[b, t].item()
            found = {"tokens": 1.0, "policy_loss": policy, "entropy": inputs.entropy[b, t].item()}
            found["ratio"] = math.exp(new - old)
            if inputs.ref_logprobs is not None:
                found["kl"] = reference.k3(new, inputs.ref_logprobs[b, t].item())
                term += kl * found["kl"]
            if inputs.values is not None and inputs.old_values is not None and inputs.returns is not None:
                figures = [x[b, t].item() for x in (inputs.values, inputs.old_values, inputs.returns)]
                found["value_loss"] = reference.value_loss(figures[0], figures[1], figures[2], 0.2)
                term += value * found["value_loss"]
            total += w * term
            for key, figure in found.items():
                sums[key] += w * figure
        per_row.append(total)
    if aggregation == "token":
        return sum(per_row) / sum(map(sum, weights)), sums
    return sum(total / sum(row) for total, row in zip(per_row, weights, strict=True)) / len(per_row), sums


@pytest.mark.parametrize("aggregation", ["token", "sequence"])
@pytest.mark.parametrize("name", ["grpo", "ppo"])
def test_losses_equal_the_reference(name: str, aggregation: Aggregation) -> None:
    inputs = loss_inputs(3, critic=name == "ppo", reference=True)
    inputs = replace(inputs, normaliser=normaliser(inputs.weights, aggregation))
    result = objective(name, aggregation, entropy=0.05, kl=0.3).loss(inputs)
    loss, sums = expected_loss(inputs, aggregation, 0.05, 0.3, 0.5)
    assert result.loss.item() == pytest.approx(loss, rel=1e-10)
    if name == "grpo":
        sums.pop("value_loss")
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


def backward(target: GRPO | PPO, inputs: LossInputs, parts: Sequence[Sequence[int]]) -> tuple[list[Tensor], float]:
    """Gradients and summed loss of ``inputs`` fed in ``parts``."""
    inputs, leaves = trainable(inputs)
    losses: list[LossOutputs] = [target.loss(rows(inputs, part)) for part in parts]
    for part in losses:
        torch.autograd.backward(part.loss)
    return [leaf.grad for leaf in leaves if leaf.grad is not None], sum(part.loss.item() for part in losses)


@pytest.mark.parametrize("aggregation", ["token", "sequence"])
@pytest.mark.parametrize("name", ["grpo", "ppo"])
def test_one_times_eight_equals_eight_times_one(name: str, aggregation: Aggregation) -> None:
    inputs = loss_inputs(5, critic=name == "ppo", reference=True)
    inputs = replace(inputs, normaliser=normaliser(inputs.weights, aggregation))
    target = objective(name, aggregation, kl=0.1)
    whole, loss = backward(target, inputs, [range(8)])
    for parts in ([[i] for i in range(8)], [[0, 3], [1, 2, 4, 5, 6], [7]]):
        split, split_loss = backward(target, inputs, parts)
        assert split_loss == pytest.approx(loss, rel=1e-12)
        for a, b in zip(whole, split, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-15)
    assert len(whole) == (3 if name == "ppo" else 2)


def test_normaliser_and_means_by_hand() -> None:
    weights = torch.tensor([[1.0, 1.0, 0.0], [0.5, 0.0, 0.0], [0.0, 0.0, 0.0]])
    terms = torch.tensor([[1.0, 3.0, 50.0], [4.0, 50.0, 50.0], [50.0, 50.0, 50.0]])
    assert normaliser(weights, "token").item() == 2.5
    assert normaliser(weights, "sequence").item() == 2.0
    assert aggregate(terms, weights, torch.tensor(2.5), "token").item() == pytest.approx(6.0 / 2.5)
    assert aggregate(terms, weights, torch.tensor(2.0), "sequence").item() == pytest.approx((2.0 + 4.0) / 2)


@pytest.mark.parametrize("aggregation", ["token", "sequence"])
def test_nothing_to_train_on_is_zero_and_not_nan(aggregation: Aggregation) -> None:
    inputs = loss_inputs(1)
    none = torch.zeros_like(inputs.weights)
    inputs, leaves = trainable(replace(inputs, weights=none, normaliser=normaliser(none, aggregation)))
    loss = objective("grpo", aggregation).loss(inputs).loss
    torch.autograd.backward(loss)
    assert loss.item() == 0.0
    assert all(leaf.grad is not None and not leaf.grad.any() for leaf in leaves)


@pytest.mark.parametrize("aggregation", ["token", "sequence"])
@pytest.mark.parametrize("garbage", [math.nan, math.inf, 1e30])
def test_what_stands_on_other_tokens_reaches_no_loss_and_no_gradient(garbage: float, aggregation: Aggregation) -> None:
    clean = loss_inputs(9, critic=True, reference=True)
    clean = replace(clean, normaliser=normaliser(clean.weights, aggregation))
    dirty = {
        name: torch.where(clean.weights > 0, getattr(clean, name), garbage)
        for name in LossInputs.__slots__
        if name not in ("weights", "normaliser")
    }
    target = objective("ppo", aggregation, kl=0.2)
    expected, loss = backward(target, clean, [range(8)])
    found, dirty_loss = backward(target, replace(clean, **dirty), [range(8)])
    assert dirty_loss == loss
    assert all(torch.equal(a, b) for a, b in zip(expected, found, strict=True))


def test_a_group_without_spread_has_no_policy_gradient() -> None:
    """Zero advantages: with the entropy bonus off, nothing moves whatever the ratio is."""
    inputs = loss_inputs(2)
    inputs = replace(inputs, advantages=torch.zeros_like(inputs.advantages))
    inputs, leaves = trainable(replace(inputs, normaliser=normaliser(inputs.weights, "token")))
    torch.autograd.backward(objective("grpo", "token", entropy=0.0).loss(inputs).loss)
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
    assert normaliser(shared.weights, "token").item() == 3.0
    grads, _ = backward(objective("grpo", "token", entropy=0.0), shared, [[0, 1]])
    torch.testing.assert_close(grads[0][:, 0].sum().item(), 1.0 / 3.0)
    torch.testing.assert_close(grads[0][:, 1].tolist(), [-1.0 / 3.0, 1.0])
