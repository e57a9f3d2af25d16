"""Finds shortest solutions: A* over (player, boxes), counted in moves, with bounds on length and states."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from tsrflow.components.envs.sokoban.board import ACTIONS, NEVER, Board, board_of
from tsrflow.components.envs.sokoban.level import Level
from tsrflow.components.envs.sokoban.matching import assign

State = tuple[int, tuple[int, ...]]
"""Player and sorted boxes."""


@dataclass(frozen=True, slots=True)
class Solution:
    """What a search found out."""

    actions: tuple[str, ...] | None
    """A solution, or None where none was found."""
    states: int
    """States looked at."""
    complete: bool
    """Whether the answer is certain: with no actions, that there is no solution of the allowed length."""


def solve(level: Level, *, longest: int = NEVER, states: int = 200_000, weight: float = 1.0) -> Solution:
    """The shortest solution of ``level`` with at most ``longest`` moves, looking at no more than ``states`` states.

    A* with the bound of ``lower_bound``; states that are known to be lost are dropped. ``weight`` above 1 trusts the
    bound more: solutions are found sooner, but need not be the shortest.
    """
    board = board_of(level)
    start = (level.player, level.boxes)
    bounds = _Bounds(board)
    first = bounds.of(start)
    if first > longest:
        return Solution(None, 1, True)
    queue = [(weight * first, 0, start)]
    best: dict[State, int] = {start: 0}
    came: dict[State, tuple[State, int]] = {}
    looked = 0
    while queue:
        _, used, state = heapq.heappop(queue)
        if used > best[state]:
            continue
        looked += 1
        if all(board.is_target[box] for box in state[1]):
            return Solution(_way(came, state), looked, True)
        if looked >= states:
            return Solution(None, looked, False)
        for direction, following in successors(board, state):
            steps = used + 1
            if steps < best.get(following, NEVER):
                bound = bounds.of(following)
                if steps + bound > longest:
                    continue
                best[following] = steps
                came[following] = (state, direction)
                heapq.heappush(queue, (steps + weight * bound, steps, following))
    return Solution(None, looked, True)


def lower_bound(level: Level) -> int:
    """Moves that a solution takes at least: the pushes of the boxes one by one, under the best assignment to targets.

    NEVER where the level is known to have no solution.
    """
    return _Bounds(board_of(level)).of((level.player, level.boxes))


def successors(board: Board, state: State) -> list[tuple[int, State]]:
    """(direction, state) for every action that changes something."""
    player, boxes = state
    found = []
    for direction, delta in enumerate(board.deltas):
        cell = player + delta
        if not board.open[cell]:
            continue
        if cell not in boxes:
            found.append((direction, (cell, boxes)))
        elif board.open[cell + delta] and cell + delta not in boxes:
            moved = tuple(sorted(cell + delta if box == cell else box for box in boxes))
            found.append((direction, (cell, moved)))
    return found


class _Bounds:
    """Lower bounds on the moves to go, remembered in parts; NEVER where boxes are frozen or on dead cells."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._lost: dict[tuple[int, ...], bool] = {}
        self._totals: dict[tuple[tuple[int, ...], ...], int] = {}

    def of(self, state: State) -> int:
        player, boxes = state
        lost = self._lost.get(boxes)
        if lost is None:
            lost = any(self._board.dead[box] for box in boxes) or self._board.frozen(boxes)
            self._lost[boxes] = lost
        if lost:
            return NEVER
        costs = tuple([self._board.lone_pushes(box, player) for box in boxes])
        total = self._totals.get(costs)
        if total is None:
            total = self._totals[costs] = min(assign(costs)[0], NEVER)
        return total


def _way(came: dict[State, tuple[State, int]], state: State) -> tuple[str, ...]:
    actions = []
    while state in came:
        state, direction = came[state]
        actions.append(ACTIONS[direction])
    return tuple(reversed(actions))
