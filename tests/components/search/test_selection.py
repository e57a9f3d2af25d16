"""The ranking that all strategies share."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsrflow.components.search.selection import top_k
from tsrflow.rollout.stream import Stream
from tsrflow.types import Node, StopReason, Turn


def node(number: int, score: float, actions: str = "a", state: str | None = None, done: bool = False) -> Node:
    return Node(
        id=number,
        parent=0,
        depth=1,
        token_ids=np.zeros(1, np.int32),
        num_sampled=1,
        logprobs=np.zeros(1, np.float32),
        turn=Turn("", tuple(actions), bool(actions)),
        finish=None,
        observation="",
        reward=0.0,
        penalty=0.0,
        cumulative=0.0,
        discounted=0.0,
        potential=None,
        score=score,
        done=done,
        stop=StopReason.TERMINATED if done else None,
        success=False,
        state_hash=str(number) if state is None else state,
        history=(tuple(actions),),
        stream=number,
        policy_version=0,
    )


pools = st.lists(
    st.tuples(st.sampled_from([-1.0, 0.0, 0.5]), st.sampled_from(["", "a", "b"]), st.sampled_from("xy"), st.booleans()),
    min_size=1,
    max_size=8,
).map(lambda rows: [node(i, *row) for i, row in enumerate(rows)])


@given(pools, st.integers(1, 8), st.integers(0, 2**32), st.booleans())
def test_no_dropped_prefix_ranks_above_a_kept_one(pool: list[Node], k: int, seed: int, unique: bool) -> None:
    stream = Stream(seed)
    kept = top_k(pool, k, stream, unique=unique)
    ranks = [(n.valid, n.score) for n in kept]
    assert ranks == sorted(ranks, reverse=True)
    prefixes = {(n.state_hash, n.history, n.done) for n in kept}
    assert len(kept) == min(k, len({(n.state_hash, n.history, n.done) for n in pool}) if unique else len(pool))
    if unique:
        assert len(prefixes) == len(kept)
    for other in pool:
        duplicate = (other.state_hash, other.history, other.done) in prefixes
        if other not in kept and not (unique and duplicate):
            assert (other.valid, other.score) <= ranks[-1]
    assert ranks[0] == max((n.valid, n.score) for n in pool)


@given(pools, st.integers(1, 8), st.integers(0, 2**32))
def test_every_cut_is_recorded_and_tied_exactly_where_another_choice_was_possible(
    pool: list[Node], k: int, seed: int
) -> None:
    stream = Stream(seed)
    kept = top_k(pool, k, stream)
    if len(pool) <= k:
        assert stream.selections == []
        return
    (selection,) = stream.selections
    assert selection.candidates == tuple(range(len(pool)))
    assert selection.kept == tuple(n.id for n in kept)
    same = {(n.state_hash, n.history, n.done) for n in kept}
    last = (kept[-1].valid, kept[-1].score)
    other = [n for n in pool if (n.valid, n.score) == last and (n.state_hash, n.history, n.done) not in same]
    assert selection.tied == bool(other)


def test_values_replace_scores_but_not_validity() -> None:
    pool = [node(0, 9.0), node(1, 0.0), node(2, 0.0, actions="")]
    assert [n.id for n in top_k(pool, 3, Stream(0), values={0: 1.0, 1: 2.0, 2: 3.0})] == [1, 0, 2]


def test_a_prefix_lost_to_the_environment_ranks_behind_an_answer_without_actions() -> None:
    lost = replace(node(0, float("-inf"), done=True), stop=StopReason.ENV_ERROR)
    assert [n.id for n in top_k([lost, node(1, -5.0, actions="")], 2, Stream(0))] == [1, 0]


@pytest.mark.parametrize("unique", [False, True])
def test_duplicates_do_not_shift_the_draws_of_a_single_choice(unique: bool) -> None:
    pool = [node(0, 0.0, state="x"), node(1, 0.0, state="x"), node(2, 0.0, "b"), node(3, 0.0, "c")]
    kept = [top_k(pool, 1, Stream(seed), unique=unique)[0].id for seed in range(30)]
    assert kept == [top_k(pool, 1, Stream(seed))[0].id for seed in range(30)]
    assert set(kept) == {0, 1, 2, 3}
