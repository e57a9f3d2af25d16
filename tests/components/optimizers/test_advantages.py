"""Advantages: hand-computed tables, a float64 reference, and indifference to everything that was not sampled."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.components.optimizers import reference
from tests.components.optimizers.batches import Layout, advantage_inputs, laid_out
from tsrflow.components.optimizers.advantages import group_advantages, whiten
from tsrflow.components.optimizers.config import GRPOConfig, PPOConfig
from tsrflow.components.optimizers.gae import gae, token_rewards
from tsrflow.components.optimizers.grpo import GRPO
from tsrflow.components.optimizers.ppo import PPO

finite = st.floats(-3, 3, allow_nan=False, width=32)
layouts = st.lists(st.tuples(st.integers(1, 4), st.integers(0, 3)), min_size=1, max_size=3)


def plain_ppo(**changes: object) -> PPO:
    return PPO(PPOConfig.model_validate({"whiten": False, **changes}))


# --- groups ---


def test_group_advantages_by_hand() -> None:
    returns = torch.tensor([1.0, 0.0, 0.0, 1.0, 3.0, 1.0], dtype=torch.float64)
    group = torch.tensor([7, 7, 7, 7, 2, 2])
    expected = [1.0, -1.0, -1.0, 1.0, 1.0, -1.0]  # means .5 and 2, standard deviations .5 and 1
    torch.testing.assert_close(group_advantages(returns, group, True, 0.1).tolist(), expected)
    assert group_advantages(returns, group, False, 0.1).tolist() == [0.5, -0.5, -0.5, 0.5, 1.0, -1.0]


@given(st.lists(st.tuples(finite, st.integers(0, 3)), min_size=1, max_size=12), st.booleans())
def test_group_advantages_equal_the_reference(members: list[tuple[float, int]], normalise: bool) -> None:
    returns, group = [m[0] for m in members], [m[1] for m in members]
    mine = group_advantages(torch.tensor(returns, dtype=torch.float64), torch.tensor(group), normalise, 0.1)
    expected = reference.group_advantages(returns, group, normalise, 0.1)
    torch.testing.assert_close(mine, torch.tensor(expected, dtype=torch.float64), rtol=1e-9, atol=2e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("value", [0.0, 1.0, 0.7, -0.3, 123.4, 1e6])
def test_equal_returns_give_exactly_zero_in_spite_of_float_noise(value: float, dtype: torch.dtype) -> None:
    noise = torch.tensor([0.0, 1e-7, -1e-7, 2e-7, 0.0, -2e-7], dtype=torch.float64) * max(1.0, abs(value))
    returns = (value + noise).to(dtype)
    advantages = group_advantages(returns, torch.zeros(6, dtype=torch.int64), True, 0.1)
    assert advantages.tolist() == [0.0] * 6


def test_sums_in_different_order_count_as_equal() -> None:
    """0.1 + 0.2 + 0.3 in three orders differs in the last bits; it is still a group without spread."""
    orders = [[0.1, 0.2, 0.3], [0.3, 0.2, 0.1], [0.2, 0.3, 0.1]]
    result = GRPO(GRPOConfig()).advantages(advantage_inputs([[(2, 1)] * 3] * 3, orders, dtype=torch.float32))
    assert not result.advantages.any()


def test_the_only_loser_is_not_lost() -> None:
    returns = torch.tensor([0.0] + [0.95] * 7)
    advantages = group_advantages(returns, torch.zeros(8, dtype=torch.int64), True, 0.1)
    assert advantages[0].item() == pytest.approx(-math.sqrt(7), rel=1e-5)
    torch.testing.assert_close(advantages[1:], torch.full((7,), 1 / math.sqrt(7)))


def test_nearly_equal_returns_are_not_blown_up() -> None:
    returns = torch.tensor([1.0, 1.0, 1.0, 0.96], dtype=torch.float64)
    advantages = group_advantages(returns, torch.zeros(4, dtype=torch.int64), True, 0.1)
    torch.testing.assert_close(advantages.tolist(), [0.1, 0.1, 0.1, -0.3])  # +.01 and -.03 over the floor of .1
    assert returns.std(unbiased=False) < 0.1


def test_a_group_of_one_gives_zero_and_leaves_the_others_alone() -> None:
    returns = torch.tensor([5.0, 1.0, 0.0])
    assert group_advantages(returns, torch.tensor([0, 1, 1]), True, 0.1).tolist() == [0.0, 1.0, -1.0]


@given(st.permutations(range(6)))
def test_order_of_members_does_not_matter(order: list[int]) -> None:
    returns = torch.tensor([1.0, 0.0, 0.25, 0.5, 2.0, 0.125], dtype=torch.float64)
    group = torch.tensor([1, 1, 1, 9, 9, 9])
    shuffled = group_advantages(returns[order], group[order], True, 0.1)
    torch.testing.assert_close(shuffled, group_advantages(returns, group, True, 0.1)[order])


def test_grpo_puts_the_return_on_every_sampled_token() -> None:
    inputs = advantage_inputs([[(2, 1), (1, 0)], [(1, 2)]], [[0.5, 0.5], [0.0]])
    result = GRPO(GRPOConfig()).advantages(inputs)
    assert result.returns is None
    assert result.advantages.tolist() == [[0, 0, 1, 1, 0, 1], [0, 0, -1, 0, 0, 0]]


# --- where rewards go, and GAE ---


def test_the_table_in_the_documentation() -> None:
    layout: Layout = [(3, 1), (2, 0)]
    sampled, turn_index = laid_out([layout], prompt=0)
    rewards = torch.tensor([[1.0, 2.0]])
    assert token_rewards(sampled, turn_index, rewards, "trajectory").tolist() == [[0, 0, 0, 0, 0, 3]]
    assert token_rewards(sampled, turn_index, rewards, "turn").tolist() == [[0, 0, 1, 0, 0, 2]]
    inputs = advantage_inputs([layout], [[1.0, 2.0]], values=torch.zeros(1, 8, dtype=torch.float64))
    whole = plain_ppo(credit="trajectory").advantages(inputs)
    by_turn = plain_ppo(credit="turn").advantages(inputs)
    assert whole.advantages.tolist() == [[0, 0, 3, 3, 3, 0, 3, 3]]
    assert by_turn.advantages.tolist() == [[0, 0, 3, 3, 3, 0, 2, 2]]


def test_rewards_of_different_turns_are_all_placed() -> None:
    sampled, turn_index = laid_out([[(1, 1), (2, 2), (1, 0)], [(3, 0)]], prompt=1)
    rewards = torch.tensor([[0.5, -1.0, 2.0], [0.25, 0.0, 0.0]])
    placed = token_rewards(sampled, turn_index, rewards, "turn")
    assert placed[0].tolist() == [0, 0.5, 0, 0, -1.0, 0, 0, 2.0]
    assert placed[1].tolist() == [0, 0, 0, 0.25, 0, 0, 0, 0]


def test_the_reward_of_a_turn_without_tokens_is_not_lost() -> None:
    sampled, turn_index = laid_out([[(2, 1), (0, 2)]])
    placed = token_rewards(sampled, turn_index, torch.tensor([[0.5, 1.0]]), "turn")
    assert placed.tolist() == [[0, 0, 0, 1.5, 0, 0, 0]]


def test_gae_by_hand() -> None:
    """gamma .5, lambda .5, rewards 0 and 1, values .2 and .4: deltas 0 + .5*.4 - .2 = 0 and 1 - .4 = .6."""
    sampled = torch.tensor([[False, True, False, True]])
    values = torch.tensor([[9.0, 0.2, 9.0, 0.4]], dtype=torch.float64)
    rewards = torch.tensor([[0.0, 0.0, 0.0, 1.0]], dtype=torch.float64)
    advantages, returns = gae(rewards, values, sampled, 0.5, 0.5)
    torch.testing.assert_close(advantages.tolist(), [[0.0, 0.15, 0.0, 0.6]])
    torch.testing.assert_close(returns.tolist(), [[0.0, 0.35, 0.0, 1.0]])


@settings(max_examples=60)
@given(st.lists(layouts, min_size=1, max_size=4), st.data())
def test_gae_equals_the_reference(shapes: list[Layout], data: st.DataObject) -> None:
    gamma, lam = data.draw(st.floats(0.1, 1)), data.draw(st.floats(0, 1))
    sampled, _ = laid_out(shapes)
    count = sampled.numel()
    values = torch.tensor(data.draw(st.lists(finite, min_size=count, max_size=count)), dtype=torch.float64)
    rewards = torch.tensor(data.draw(st.lists(finite, min_size=count, max_size=count)), dtype=torch.float64)
    values, rewards = values.view(sampled.shape), rewards.view(sampled.shape)
    advantages, returns = gae(rewards, values, sampled, gamma, lam)
    for row, mask in enumerate(sampled):
        expected = reference.gae(rewards[row][mask].tolist(), values[row][mask].tolist(), gamma, lam)
        torch.testing.assert_close(advantages[row][mask].tolist(), expected, rtol=1e-9, atol=1e-9)
        torch.testing.assert_close(returns[row][mask], advantages[row][mask] + values[row][mask])
        assert not advantages[row][~mask].any() and not returns[row][~mask].any()


@settings(max_examples=60)
@given(layouts, st.data())
@pytest.mark.parametrize("credit", ["turn", "trajectory"])
def test_observation_tokens_change_nothing(credit: str, shape: Layout, data: st.DataObject) -> None:
    """Any number of observation tokens anywhere, with any critic output on them: the same bits on sampled tokens."""
    longer = [(n, data.draw(st.integers(0, 5))) for n, _ in shape]
    count = sum(n for n, _ in shape)
    at_sampled = torch.tensor(data.draw(st.lists(finite, min_size=count, max_size=count)), dtype=torch.float32)
    rewards = data.draw(st.lists(finite, min_size=len(shape), max_size=len(shape)))
    garbage = data.draw(st.sampled_from([0.0, 1e30, math.nan, math.inf]))
    results = []
    for layout in (shape, longer):
        inputs = advantage_inputs([layout, [(6, 0)]], [rewards, [1.0]], dtype=torch.float32)
        values = torch.full(inputs.sampled.shape, garbage, dtype=torch.float32)
        values[0, inputs.sampled[0]] = at_sampled
        values[1, inputs.sampled[1]] = 0.5
        ppo = PPO(PPOConfig.model_validate({"credit": credit, "gamma": 0.9, "lam": 0.8}))
        results.append((inputs.sampled, ppo.advantages(replace(inputs, values=values))))
    (mask, short), (mask_longer, long) = results
    assert short.returns is not None and long.returns is not None
    for a, b in ((short.advantages, long.advantages), (short.returns, long.returns)):
        assert torch.equal(a[0][mask[0]], b[0][mask_longer[0]])
        assert torch.isfinite(a).all() and torch.isfinite(b).all()
        assert not b[~mask_longer].any()


def test_ppo_takes_values_of_another_precision() -> None:
    inputs = advantage_inputs([[(2, 0)]], [[1.0]], values=torch.full((1, 4), 0.5, dtype=torch.bfloat16))
    result = plain_ppo().advantages(inputs)
    assert result.advantages.dtype == torch.float64 and result.advantages.tolist() == [[0, 0, 0.5, 0.5]]


def test_ppo_without_values_is_refused() -> None:
    with pytest.raises(ValueError, match="values"):
        PPO(PPOConfig()).advantages(advantage_inputs([[(1, 0)]], [[1.0]]))


# --- whitening ---


def test_whitening_has_weighted_mean_zero_and_standard_deviation_one() -> None:
    values = torch.tensor([[1.0, 5.0, 99.0], [3.0, -2.0, 0.0]], dtype=torch.float64)
    weights = torch.tensor([[1.0, 0.5, 0.0], [1.0, 0.25, 0.0]], dtype=torch.float64)
    white = whiten(values, weights, 0.1)
    assert (white * weights).sum().item() == pytest.approx(0.0, abs=1e-12)
    assert ((white**2 * weights).sum() / weights.sum()).item() == pytest.approx(1.0)
    assert white[0, 2] == 0 and white[1, 2] == 0


@pytest.mark.parametrize("value", [0.0, 0.4, -7.0, 1e5])
def test_constant_advantages_whiten_to_exactly_zero(value: float) -> None:
    values = torch.full((2, 3), value) + torch.tensor([[0.0, 1e-7, 0.0], [0.0, -1e-7, 0.0]]) * max(1.0, abs(value))
    assert not whiten(values, torch.ones(2, 3), 0.1).any()


def test_whitening_never_divides_by_less_than_the_floor() -> None:
    values = torch.tensor([[0.01, -0.01]], dtype=torch.float64)
    torch.testing.assert_close(whiten(values, torch.ones(1, 2, dtype=torch.float64), 0.1).tolist(), [[0.1, -0.1]])


def test_whitening_ignores_what_has_no_weight() -> None:
    values = torch.tensor([[1.0, math.nan, -1.0]])
    assert whiten(values, torch.tensor([[1.0, 0.0, 1.0]]), 0.1).tolist() == [[1.0, 0.0, -1.0]]
    assert not whiten(values, torch.zeros(1, 3), 0.1).any()
