"""True pushing costs, assignment and lost states, against exhaustive search on small boards."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.components.envs.sokoban import brute
from tsrflow.components.envs.sokoban.board import NEVER, board_of
from tsrflow.components.envs.sokoban.level import Level, parse
from tsrflow.components.envs.sokoban.matching import assign
from tsrflow.components.envs.sokoban.progress import DEAD, FLOOR, moves_left, potential


def left(level: Level) -> int:
    return moves_left(board_of(level), level.player, level.boxes)


@given(
    st.integers(1, 5).flatmap(
        lambda n: st.lists(st.lists(st.integers(0, 30), min_size=n, max_size=n), min_size=n, max_size=n)
    )
)
@settings(max_examples=300, deadline=None)
def test_the_assignment_costs_least(costs: list[list[int]]) -> None:
    total, columns = assign(costs)
    n = len(costs)
    assert sorted(columns) == list(range(n))
    assert total == sum(costs[i][columns[i]] for i in range(n))
    assert total == min(sum(costs[i][p[i]] for i in range(n)) for p in itertools.permutations(range(n)))


def test_an_assignment_avoids_what_cannot_be_where_it_can() -> None:
    assert assign([[NEVER, 1], [1, NEVER]])[0] == 2
    assert assign([[NEVER, 1], [NEVER, 2]])[0] >= NEVER


def test_one_box_is_estimated_exactly() -> None:
    unsolvable = 0
    for seed in range(400):
        level = brute.random_level(seed, 6, 7, 1)
        moves = brute.shortest(level)
        unsolvable += moves is None
        assert left(level) == (NEVER if moves is None else moves), level.text()
        pushes = brute.shortest(level, pushes=True)
        bound = min(board_of(level).lone_pushes(level.boxes[0], level.player))
        assert bound == (NEVER if pushes is None else pushes)
    assert 50 < unsolvable < 350


@pytest.mark.parametrize(("boxes", "seeds"), [(2, 250), (3, 60)])
def test_what_is_called_lost_cannot_be_solved(boxes: int, seeds: int) -> None:
    lost = solvable = 0
    for seed in range(seeds):
        level = brute.random_level(seed, 6, 6, boxes, wall=0.12)
        moves = brute.shortest(level)
        if left(level) >= NEVER:
            lost += 1
            assert moves is None, level.text()
        solvable += moves is not None
    assert lost > seeds // 4  # and most hopeless levels are seen through
    assert solvable > 5


@pytest.mark.parametrize(
    "rows",
    [
        ["######", "#$  @#", "#   .#", "######"],  # in a corner
        ["######", "# $ @#", "#    #", "# .  #", "######"],  # at a wall without a target
        ["#######", "# $$ @#", "#     #", "#..   #", "#######"],  # two at a wall beside each other
        ["######", "#.   #", "# $$ #", "# $$ #", "#...@#", "######"],  # four in a square
    ],
)
def test_lost_positions_are_seen(rows: list[str]) -> None:
    level = parse(rows)
    assert left(level) == NEVER
    assert brute.shortest(level) is None


def test_boxes_that_wait_for_each_other_are_not_called_lost() -> None:
    level = parse(["########", "#@$ $..#", "########"])
    assert left(level) < NEVER


def test_two_boxes_cannot_share_the_only_target_in_reach() -> None:
    level = parse(["##########", "#. @$ $ .#", "##########"])
    assert [min(board_of(level).lone_moves(box, level.player)) for box in level.boxes] == [4, 2]
    assert left(level) == NEVER


def test_a_frozen_box_on_its_target_is_fine() -> None:
    assert left(parse(["#####", "#*  #", "# $.#", "#@  #", "#####"])) < NEVER


def test_the_estimate_for_several_boxes_is_near_the_truth() -> None:
    ratios = []
    for seed in range(200):
        level = brute.random_level(seed, 6, 6, 2, wall=0.1)
        moves = brute.shortest(level)
        if moves:
            ratios.append(left(level) / moves)
    assert len(ratios) > 20
    assert 0.6 < sum(ratios) / len(ratios) < 1.2


def test_a_push_towards_the_target_counts_and_a_push_away_costs() -> None:
    level = parse(["########", "#      #", "# @$  .#", "#      #", "########"])
    board = board_of(level)
    nearer = moves_left(board, level.player + 1, (level.boxes[0] + 1,))
    assert left(level) == 3
    assert nearer == 2
    assert moves_left(board, level.boxes[0], (level.boxes[0] - 1,)) > 3


@pytest.mark.parametrize("budget", [1, 10, 200])
def test_potential_falls_with_the_moves_to_go_and_lost_is_far_below(budget: int) -> None:
    values = [potential(moves, budget) for moves in range(6 * budget)]
    assert values[0] == 1.0
    assert all(a > b for a, b in itertools.pairwise(values))
    assert min(values) > FLOOR > potential(NEVER, budget) == DEAD == -1.0
    assert potential(budget, budget) == pytest.approx(-0.5)


def test_one_move_gains_more_than_its_step_costs_at_the_default_budget() -> None:
    assert potential(3, 10) - potential(4, 10) == pytest.approx(0.15)
