"""Advantages of every objective: hand-computed tables, a float64 reference, and indifference to observation tokens."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.components.optimizers import reference
from tests.components.optimizers.batches import OBJECTIVES, Layout, advantage_inputs, laid_out, objective
from tsrflow.components.optimizers.advantages import leave_one_out, overlong_penalty, rewards_to_go, turn_weights
from tsrflow.components.optimizers.gae import bi_level_gae, gae, token_rewards

finite = st.floats(-3, 3, allow_nan=False, width=32)
layouts = st.lists(st.tuples(st.integers(1, 4), st.integers(0, 3)), min_size=1, max_size=3)
ONE_TURN: list[Layout] = [[(2, 0)]] * 4
LEAVES = [[1.0], [0.0], [0.0], [0.0]]
"""One success in four: mean 1/4, standard deviation sqrt(3)/4."""


def first_tokens(name: str, rewards: list[list[float]] = LEAVES, **changes: Any) -> list[float]:
    """Advantage of each trajectory's first sampled token; all have two tokens a turn."""
    shapes: list[Layout] = [[(2, 1)] * len(r) for r in rewards]
    result: Tensor = objective(name, **changes).advantages(advantage_inputs(shapes, rewards)).advantages
    return list(result[:, 2].tolist())


# --- by hand ---


@pytest.mark.parametrize(
    ("name", "changes", "expected"),
    [
        ("grpo", {}, [math.sqrt(3), *[-1 / math.sqrt(3)] * 3]),
        ("gspo", {}, [math.sqrt(3), *[-1 / math.sqrt(3)] * 3]),
        ("dapo", {}, [math.sqrt(3), *[-1 / math.sqrt(3)] * 3]),
        ("dapo", {"normalise": "none"}, [0.75, -0.25, -0.25, -0.25]),
        ("dr_grpo", {}, [0.75, -0.25, -0.25, -0.25]),
        ("rloo", {}, [1.0, -1 / 3, -1 / 3, -1 / 3]),
        ("reinforce_pp", {}, [math.sqrt(3), *[-1 / math.sqrt(3)] * 3]),  # one group is the whole step
        ("gigpo", {"normalise": "none"}, [1.5, -0.5, -0.5, -0.5]),  # one turn from one state: the same twice
        ("gigpo", {"normalise": "none", "omega": 0.5}, [1.125, -0.375, -0.375, -0.375]),
        ("gigpo", {"omega": 0.0}, [math.sqrt(3), *[-1 / math.sqrt(3)] * 3]),
    ],
)
def test_one_success_in_four(name: str, changes: dict[str, Any], expected: list[float]) -> None:
    torch.testing.assert_close(first_tokens(name, **changes), expected)


@pytest.mark.parametrize("name", [n for n in OBJECTIVES if n != "ppo"])
def test_a_step_without_spread_gives_exactly_zero(name: str) -> None:
    assert (
        first_tokens(
            name, [[0.1, 0.2, 0.3], [0.3, 0.2, 0.1], [0.2, 0.3, 0.1]], **({"omega": 0.0} if name == "gigpo" else {})
        )
        == [0.0] * 3
    )


def test_leave_one_out_keeps_the_only_loser() -> None:
    returns = torch.tensor([0.0, *[0.95] * 7], dtype=torch.float64)
    found = leave_one_out(returns, torch.zeros(8, dtype=torch.int64))
    torch.testing.assert_close(found.tolist(), [-0.95, *[0.95 / 7] * 7])


def test_a_group_of_one_teaches_a_leave_one_out_baseline_nothing() -> None:
    assert leave_one_out(torch.tensor([5.0, 1.0, 0.0]), torch.tensor([4, 2, 2])).tolist() == [0.0, 1.0, -1.0]


def test_overlong_penalty_by_hand() -> None:
    """Limit 10, buffer 4: nothing up to 6, then a quarter per token, at most 1."""
    found = overlong_penalty(torch.tensor([1, 6, 7, 9, 10, 30]), 10, 4)
    assert found.tolist() == [0.0, 0.0, -0.25, -0.75, -1.0, -1.0]
    assert overlong_penalty(torch.tensor([30]), 10, 0).tolist() == [0.0]


def test_dapo_prefers_the_shorter_of_two_equal_trajectories() -> None:
    inputs = advantage_inputs([[(3, 0)], [(5, 0)]], [[1.0], [1.0]])
    found = objective("dapo", normalise="none", max_length=6, overlong=2).advantages(inputs).advantages
    assert found[:, 2].tolist() == [0.25, -0.25]  # 5 of 6 tokens: half of the penalty


def test_gigpo_compares_turns_that_were_taken_in_the_same_state() -> None:
    """Two trajectories meet state 5 in their second turn; the third goes elsewhere. gamma .5.

    Returns 1, 0, 2 have mean 1. From the first turn on: .5, 0, 1 (mean .5). From state 5 on: 1 and 0 (mean .5)."""
    rewards = [[0.0, 1.0], [0.0, 0.0], [0.0, 2.0]]
    inputs = advantage_inputs([[(1, 1), (1, 0)]] * 3, rewards, anchor=[[0, 5], [0, 5], [0, 6]])
    found = objective("gigpo", normalise="none", gamma=0.5).advantages(inputs).advantages[:, 2:]
    assert found.tolist() == [[0.0, 0.0, 0.5], [-1.5, 0.0, -1.5], [1.5, 0.0, 1.0]]


def test_a_turn_that_leaves_share_counts_once_among_its_siblings() -> None:
    """Two leaves of one search share their first turn (weight 1/2), a plain rollout has its own. Returns from there on
    1, 0 and 2: the shared turn stands for their mean .5, so the baseline is 1.25 and not 1."""
    inputs = advantage_inputs([[(1, 1), (1, 0)]] * 3, [[0.0, 1.0], [0.0, 0.0], [0.0, 2.0]])
    weights = inputs.weights.clone()
    weights[:2, 2] = 0.5
    assert turn_weights(weights, inputs.turn_index, 2).tolist() == [[0.5, 1.0], [0.5, 1.0], [1.0, 1.0]]
    target = objective("gigpo", normalise="none", gamma=1.0)
    step = target.advantages(replace(inputs, weights=weights)).advantages[:, 2] - torch.tensor([0.0, -1.0, 1.0])
    assert step.tolist() == [-0.25, -1.25, 0.75]
    assert (step * weights[:, 2]).sum().item() == 0.0


def test_gigpo_without_anchors_is_refused() -> None:
    with pytest.raises(ValueError, match="state before each turn"):
        objective("gigpo").advantages(replace(advantage_inputs(ONE_TURN, LEAVES), anchor=None))


def test_reinforce_pp_takes_the_penalty_out_of_the_reward_of_each_token() -> None:
    """kl .5, log-ratios .2 and .4, reward 1 at the end: .8 is left of it on the last token, .7 on the first."""
    old = torch.tensor([[math.nan, math.nan, -0.3, -0.1]], dtype=torch.float64)
    logprobs = (old, old - torch.tensor([0.0, 0.0, 0.2, 0.4], dtype=torch.float64))
    inputs = advantage_inputs([[(2, 0)]], [[1.0]], logprobs=logprobs)
    found = objective("reinforce_pp", kl=0.5, min_std=1.0).advantages(inputs).advantages
    torch.testing.assert_close(found.tolist(), [[0.0, 0.0, -0.05, 0.05]])  # less their mean .75, over the floor 1
    in_loss = objective("reinforce_pp", kl=0.5, kl_in="loss")
    assert not in_loss.advantages(inputs).advantages.any()
    assert in_loss.config.kl_in_loss == 0.5 and objective("reinforce_pp", kl=0.5).config.kl_in_loss == 0.0
    with pytest.raises(ValueError, match="log-probs"):
        objective("reinforce_pp", kl=0.5).advantages(replace(inputs, ref_logprobs=None))


def test_reinforce_pp_with_credit_by_turn_does_not_praise_what_came_later() -> None:
    inputs = advantage_inputs([[(1, 1), (1, 0)]], [[1.0, 0.0]])
    by_turn = objective("reinforce_pp", credit="turn").advantages(inputs).advantages
    assert by_turn.tolist() == [[0, 0, 1, 0, -1]]
    assert not objective("reinforce_pp").advantages(inputs).advantages.any()  # 1 on both: no spread


def test_bi_level_gae_by_hand() -> None:
    """Turns of two tokens and one, rewards 1 and 2, values .1 .2 and .3; everything discounted by a half.

    Turns: second 2 - .3 = 1.7; first 1 + .5 * .3 - .2 + .25 * 1.7 = 1.375.
    Inside the first turn: its last token 1.375, the one before .5 * .2 - .1 + .25 * 1.375 = .34375."""
    _, turn_index = laid_out([[(2, 1), (1, 0)]], prompt=1)
    rewards = torch.tensor([[9.0, 0.0, 1.0, 9.0, 2.0]], dtype=torch.float64)
    values = torch.tensor([[9.0, 0.1, 0.2, 9.0, 0.3]], dtype=torch.float64)
    advantages, returns = bi_level_gae(rewards, values, turn_index, 0.5, 0.5, 0.5, 0.5)
    torch.testing.assert_close(advantages.tolist(), [[0.0, 0.34375, 1.375, 0.0, 1.7]])
    torch.testing.assert_close(returns.tolist(), [[0.0, 0.44375, 1.575, 0.0, 2.0]])


def test_the_length_of_a_turn_does_not_discount_the_next_one_under_bi_level_gae() -> None:
    """Without values, gamma 1 and turn_gamma .5: every token of the first turn has half of the second's reward."""
    inputs = advantage_inputs(
        [[(1, 1), (1, 0)], [(4, 1), (3, 0)]], [[0.0, 1.0]] * 2, values=torch.zeros(2, 10, dtype=torch.float64)
    )
    found = objective("ppo", gae="bi_level", turn_gamma=0.5, whiten=False).advantages(inputs).advantages
    for row in (0, 1):
        assert set(found[row][inputs.turn_index[row] == 0].tolist()) == {0.5}
        assert set(found[row][inputs.turn_index[row] == 1].tolist()) == {1.0}


# --- against the reference ---


def drawn(data: st.DataObject, shape: torch.Size) -> Tensor:
    seed = data.draw(st.integers(0, 2**32 - 1))
    return torch.from_numpy(np.random.default_rng(seed).uniform(-3, 3, size=tuple(shape)))


@settings(max_examples=60)
@given(st.lists(layouts, min_size=1, max_size=4), st.data())
def test_bi_level_gae_equals_the_reference(shapes: list[Layout], data: st.DataObject) -> None:
    gamma, lam, turn_gamma, turn_lam = (data.draw(st.floats(0, 1)) for _ in range(4))
    sampled, turn_index = laid_out(shapes)
    values = drawn(data, sampled.shape)
    turn_rewards = drawn(data, torch.Size((len(shapes), 3)))
    rewards = torch.zeros(sampled.shape, dtype=torch.float64)
    for row, shape in enumerate(shapes):
        turn_rewards[row, len(shape) :] = 0.0
    rewards = token_rewards(sampled, turn_index, turn_rewards, "turn")
    advantages, returns = bi_level_gae(rewards, values, turn_index, gamma, lam, turn_gamma, turn_lam)
    for row, shape in enumerate(shapes):
        by_turn = [values[row][turn_index[row] == k].tolist() for k in range(len(shape))]
        earned = turn_rewards[row, : len(shape)].tolist()
        expected = reference.bi_level_gae(earned, by_turn, gamma, lam, turn_gamma, turn_lam)
        found = advantages[row][sampled[row]]
        torch.testing.assert_close(found.tolist(), [a for turn in expected for a in turn], rtol=1e-9, atol=1e-9)
        torch.testing.assert_close(returns[row][sampled[row]], found + values[row][sampled[row]])


@given(st.lists(layouts, min_size=1, max_size=4), st.data())
def test_bi_level_gae_without_discounts_is_gae(shapes: list[Layout], data: st.DataObject) -> None:
    sampled, turn_index = laid_out(shapes)
    rewards, values = drawn(data, sampled.shape), drawn(data, sampled.shape)
    both = bi_level_gae(rewards * closing(turn_index), values, turn_index, 1.0, 1.0, 1.0, 1.0)
    for one, other in zip(both, gae(rewards * closing(turn_index), values, sampled, 1.0, 1.0), strict=True):
        torch.testing.assert_close(one, other)


def closing(turn_index: Tensor) -> Tensor:
    """1 on the last token of each turn, where rewards are."""
    out = torch.zeros(turn_index.shape)
    for row, turns in enumerate(turn_index.tolist()):
        for turn in set(turns) - {-1}:
            out[row, len(turns) - 1 - turns[::-1].index(turn)] = 1.0
    return out


@given(st.lists(st.tuples(finite, st.integers(0, 3)), min_size=1, max_size=12))
def test_leave_one_out_equals_the_reference(members: list[tuple[float, int]]) -> None:
    returns, group = [m[0] for m in members], [m[1] for m in members]
    mine = leave_one_out(torch.tensor(returns, dtype=torch.float64), torch.tensor(group))
    expected = torch.tensor(reference.leave_one_out(returns, group), dtype=torch.float64)
    torch.testing.assert_close(mine, expected, rtol=1e-9, atol=2e-5)


@settings(max_examples=60)
@given(st.data(), st.sampled_from(["std", "none"]), st.floats(0, 1), st.floats(0, 2))
def test_gigpo_equals_the_reference(data: st.DataObject, normalise: str, gamma: float, omega: float) -> None:
    sizes = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=6))
    group = [data.draw(st.integers(0, 1)) for _ in sizes]
    rewards = [data.draw(st.lists(finite, min_size=n, max_size=n)) for n in sizes]
    states = [[3 * g + data.draw(st.integers(0, 2)) for _ in range(n)] for n, g in zip(sizes, group, strict=True)]
    inputs = advantage_inputs([[(1, 1)] * n for n in sizes], rewards, group=group, anchor=states)
    target = objective("gigpo", normalise=normalise, gamma=gamma, omega=omega)
    found = target.advantages(inputs).advantages
    expected = reference.gigpo(rewards, states, group, gamma, omega, normalise == "std", 0.1)
    for row, turns in enumerate(expected):
        torch.testing.assert_close(found[row][inputs.sampled[row]].tolist(), turns, rtol=1e-9, atol=5e-5)


@settings(max_examples=60)
@given(st.lists(layouts, min_size=1, max_size=4), st.data(), st.sampled_from(["turn", "trajectory"]))
def test_reinforce_pp_equals_the_reference(shapes: list[Layout], data: st.DataObject, credit: str) -> None:
    gamma, kl = data.draw(st.floats(0.1, 1)), data.draw(st.floats(0.01, 1))
    sampled, turn_index = laid_out(shapes)
    old, ref, share = (drawn(data, sampled.shape) for _ in range(3))
    weights = (0.1 + share.abs()) * sampled
    rewards = [drawn(data, torch.Size((len(shape),))).tolist() for shape in shapes]
    inputs = advantage_inputs(shapes, rewards, weights=weights, logprobs=(old, ref))
    found = objective("reinforce_pp", gamma=gamma, kl=kl, credit=credit).advantages(inputs).advantages
    to_go: list[float] = []
    for row, earned in enumerate(rewards):
        where = sampled[row].nonzero()[:, 0].tolist()
        per_token = dict.fromkeys(where, 0.0)
        for turn, reward in enumerate(earned):
            mine = [t for t in where if turn_index[row, t] == turn] if credit == "turn" else where
            per_token[mine[-1]] += reward
        costs = [per_token[t] - kl * (old[row, t] - ref[row, t]).item() for t in where]
        to_go += reference.gae(costs, [0.0] * len(costs), gamma, 1.0)
    expected = reference.normalised(to_go, weights[sampled].tolist(), 0.1)
    torch.testing.assert_close(found[sampled].tolist(), expected, rtol=1e-8, atol=1e-8)
    assert not found[~sampled].any()


def test_rewards_to_go_by_hand() -> None:
    assert rewards_to_go(torch.tensor([[1.0, 2.0, 4.0]]), 0.5).tolist() == [[3.0, 4.0, 4.0]]


# --- observation tokens ---


VARIANTS: list[tuple[str, dict[str, Any]]] = [
    *[(name, {}) for name in OBJECTIVES],
    ("ppo", {"gae": "bi_level", "gamma": 0.9, "lam": 0.8, "turn_lam": 0.7}),
    ("reinforce_pp", {"kl": 0.1, "gamma": 0.9, "credit": "turn"}),
    ("dapo", {"max_length": 8, "overlong": 4}),
]


@settings(max_examples=30)
@given(st.lists(layouts, min_size=2, max_size=4), st.data())
@pytest.mark.parametrize(("name", "changes"), VARIANTS, ids=lambda v: v if isinstance(v, str) else "+".join(v))
def test_observation_tokens_change_no_advantage(
    name: str, changes: dict[str, Any], shapes: list[Layout], data: st.DataObject
) -> None:
    """Any number of observation tokens anywhere, whatever stands on them: the same bits on sampled tokens."""
    longer = [[(n, data.draw(st.integers(0, 5))) for n, _ in shape] for shape in shapes]
    rewards = [data.draw(st.lists(finite, min_size=len(s), max_size=len(s))) for s in shapes]
    garbage = data.draw(st.sampled_from([0.0, 1e30, math.nan, math.inf]))
    count = int(laid_out(shapes)[0].sum())
    figures = [torch.from_numpy(np.random.default_rng(count + i).normal(size=count)).float() for i in range(4)]
    target = objective(name, **changes)
    found = []
    for layout in (shapes, longer):
        sampled, _ = laid_out(layout)
        values, old, ref, share = (torch.full(sampled.shape, garbage).masked_scatter(sampled, f) for f in figures)
        weights = torch.where(sampled, 0.1 + share.abs(), 0.0)
        group = [i % 2 for i in range(len(shapes))]
        result = target.advantages(
            advantage_inputs(
                layout, rewards, group=group, values=values, weights=weights, logprobs=(old, ref), dtype=torch.float32
            )
        )
        outputs = [result.advantages] if result.returns is None else [result.advantages, result.returns]
        assert all(bool(torch.isfinite(x).all()) and not x[~sampled].any() for x in outputs)
        found.append([x[sampled] for x in outputs])
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))


def test_what_only_the_critic_trains_on_changes_no_advantage() -> None:
    """The rows of dropped groups have weight 0: whitening of the others does not see them, their returns are there."""
    shapes: list[Layout] = [[(2, 1), (1, 0)], [(3, 0)], [(1, 1), (4, 0)]]
    rewards = [[0.0, 1.0], [0.5], [3.0, -9.0]]
    values = torch.linspace(-1, 1, 3 * 8, dtype=torch.float64).view(3, 8)
    both = advantage_inputs(shapes, rewards, values=values)
    both = replace(both, weights=both.weights * torch.tensor([[1.0], [1.0], [0.0]]))
    alone = advantage_inputs(shapes[:2], rewards[:2], values=values[:2])
    width = alone.sampled.shape[1]
    for changes in ({}, {"gae": "bi_level"}):
        one, other = (objective("ppo", critic_on="all", **changes).advantages(x) for x in (both, alone))
        assert torch.equal(one.advantages[:2, :width], other.advantages)
        assert not one.advantages[2].any() and one.returns is not None and one.returns[2].any()
