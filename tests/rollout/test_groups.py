"""From kept leaves to training arrays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.components.search.golden import path_of, planned
from tests.components.search.worlds import HashedTable, moody_script
from tests.scripted import Bench
from tsrflow.components.search.beam import Beam
from tsrflow.components.search.bon import BestOfN
from tsrflow.components.search.config import BeamConfig, BestOfNConfig, NaiveConfig
from tsrflow.components.search.naive import Naive
from tsrflow.rollout.groups import build_group, members
from tsrflow.types import Group

NAIVE = Naive(NaiveConfig())


def beam(width: int, candidates: int) -> Beam:
    return Beam(BeamConfig(width=width, candidates=candidates))


def test_tokens_shared_by_kept_leaves_weigh_one_over_their_number() -> None:
    table = {"b": (0.0, False, False, 0.9), "ba": (0.0, False, False, 0.5), "bb": (0.0, False, False, 0.4)}
    bench = Bench(table, planned({"": "ab", "1": "ab"}), max_turns=2)
    search = bench.search(beam(2, 2), keep=2)
    assert [path_of(search, leaf) for leaf in search.kept] == ["10", "11"]
    group, dropped = build_group(search.task, [search])
    assert dropped == 0
    for trajectory in group.trajectories:
        assert set(trajectory.weights[trajectory.turn_index == 0]) == {0.5}
        assert set(trajectory.weights[trajectory.turn_index == 1]) == {1.0}
        assert set(trajectory.weights[~trajectory.sampled]) == {0.0}
    total = sum(float(t.weights.sum()) for t in group.trajectories)
    assert total == sum(search.tree.nodes[i].num_sampled for i in (2, search.kept[0].id, search.kept[1].id))


def test_weights_count_only_leaves_that_are_kept_in_the_same_search() -> None:
    bench = Bench({}, planned({"": "ab"}), max_turns=1)
    searches = [bench.search(beam(2, 2), keep=1) for _ in range(2)]
    group, _ = build_group(searches[0].task, searches)
    assert all(set(t.weights[t.sampled]) == {1.0} for t in group.trajectories)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**40), st.integers(1, 3))
def test_arrays_are_exactly_what_the_model_saw_and_sampled(seed: int, keep: int) -> None:
    bench = Bench(HashedTable(seed), moody_script(seed), turn_tokens=20, trajectory_tokens=90)
    search = bench.search(beam(3, 3), keep=keep, stream=seed)
    group, _ = build_group(search.task, [search])
    assert len(group.trajectories) == len(search.kept)
    for trajectory, leaf in zip(group.trajectories, search.kept, strict=True):
        length = len(trajectory.token_ids)
        arrays = (trajectory.sampled, trajectory.turn_index, trajectory.logprobs, trajectory.weights)
        assert {len(a) for a in arrays} == {length}
        assert trajectory.token_ids.tolist() == search.tree.token_ids(leaf.id).tolist()
        assert (trajectory.logprobs != 0).tolist() == trajectory.sampled.tolist()
        for turn, node in enumerate(trajectory.path[1:]):
            mask = trajectory.turn_index == turn
            assert trajectory.token_ids[mask].tolist() == node.token_ids[: node.num_sampled].tolist()
            assert trajectory.logprobs[mask].tolist() == node.logprobs.tolist()
            (where,) = np.nonzero(mask)
            assert where.tolist() == list(range(where[0], where[0] + node.num_sampled))
        assert trajectory.turn_rewards.sum() == pytest.approx(leaf.cumulative, abs=1e-6)
        assert trajectory.return_ == leaf.cumulative
        types = [a.dtype for a in (trajectory.token_ids, *arrays, trajectory.turn_rewards)]
        assert types == [np.int32, np.bool_, np.int32, np.float32, np.float32, np.float32]


def test_group_metrics_are_one_number_per_member() -> None:
    table = {"a": (1.0, True, True, 0.0), "b": (0.25, True, False, 0.5)}
    bench = Bench(table, planned({"": "ab"}))
    search = bench.search(beam(2, 2), keep=2)
    group: Group = build_group(search.task, [search])[0]
    assert group.metric("return").tolist() == [1.0, 0.25]
    assert group.metric("success").tolist() == [1.0, 0.0]
    assert group.metric("score").tolist() == [1.0, 0.75]


@pytest.mark.parametrize(
    ("size", "keep", "mix", "plain", "searches"),
    [(16, 1, 0.0, 0, 16), (16, 2, 0.5, 8, 4), (8, 1, 1.0, 8, 0), (8, 2, 0.0, 0, 4), (4, 1, 0.25, 1, 3)],
)
def test_a_group_is_naive_rollouts_plus_searches(size: int, keep: int, mix: float, plain: int, searches: int) -> None:
    parts = members(beam(2, 4), NAIVE, size, keep, mix)
    assert [part.searched for part in parts] == [False] * plain + [True] * searches
    assert sum(part.keep for part in parts) == size
    assert all(part.strategy is NAIVE for part in parts if not part.searched)


def test_a_group_of_naive_search_is_all_naive_whatever_the_mix() -> None:
    parts = members(NAIVE, NAIVE, 6, 1, 0.5)
    assert [part.searched for part in parts] == [False] * 6


def test_group_scope_makes_one_search_of_the_whole_searched_share() -> None:
    parts = members(BestOfN(BestOfNConfig(n=2, scope="group")), NAIVE, 16, 1, 0.25)
    assert [(part.searched, part.keep) for part in parts if part.searched] == [(True, 12)]
    assert sum(not part.searched for part in parts) == 4


def test_a_searched_share_that_searches_cannot_fill_is_refused() -> None:
    with pytest.raises(ValueError, match="3 searched members are not a multiple of 2 kept per search"):
        members(beam(2, 4), NAIVE, 3, 2, 0.0)
