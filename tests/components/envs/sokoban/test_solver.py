"""The solver against exhaustive search, and its bounds."""

from __future__ import annotations

import pytest

from tests.components.envs.sokoban import brute
from tsrflow.components.envs.sokoban.board import NEVER
from tsrflow.components.envs.sokoban.level import Level, parse
from tsrflow.components.envs.sokoban.solver import lower_bound, solve


def replayed(level: Level, actions: tuple[str, ...]) -> bool:
    state = brute.start(level)
    for action in actions:
        following = brute.play(level, state, action)
        assert following != state
        state = following
    return brute.solved(level, state)


@pytest.mark.parametrize(("boxes", "size", "seeds"), [(1, 6, 200), (2, 6, 150), (3, 6, 30)])
def test_solutions_are_shortest_and_none_is_missed(boxes: int, size: int, seeds: int) -> None:
    for seed in range(1000, 1000 + seeds):
        level = brute.random_level(seed, size, size, boxes, wall=0.12)
        moves, found = brute.shortest(level), solve(level)
        assert found.complete
        if moves is None:
            assert found.actions is None
        else:
            assert found.actions is not None
            assert len(found.actions) == moves
            assert lower_bound(level) <= (brute.shortest(level, pushes=True) or 0)
            assert replayed(level, found.actions)


def test_a_weighted_search_finds_solutions_too() -> None:
    solved = 0
    for seed in range(60):
        level = brute.random_level(seed, 6, 6, 2, wall=0.1)
        moves, found = brute.shortest(level), solve(level, weight=5.0)
        assert (found.actions is None) == (moves is None)
        if found.actions is not None and moves is not None:
            assert len(found.actions) >= moves
            assert replayed(level, found.actions)
            solved += 1
    assert solved > 5


def test_length_and_states_are_bounded() -> None:
    level = parse(["#########", "#@      #", "# $     #", "#      .#", "#########"])
    moves = brute.shortest(level)
    assert moves is not None
    assert solve(level, longest=moves).actions is not None
    short = solve(level, longest=moves - 1)
    assert short.actions is None and short.complete
    cut = solve(level, states=3)
    assert cut.actions is None and not cut.complete and cut.states == 3


def test_a_solved_level_needs_nothing_and_a_lost_one_is_lost_at_once() -> None:
    assert solve(parse(["#####", "#@* #", "#####"])).actions == ()
    lost = parse(["#####", "#$@.#", "#####"])
    assert lower_bound(lost) == NEVER
    assert solve(lost).actions is None
