"""What can be known about a level's walls and targets once and for all: moves, and the true cost of pushing one box.

A lone box is pushed by a player who has to walk around it. A *stand* is (box cell, direction): the player stands behind
the box, ready to push it that way. From a stand one can push, or walk to another stand of the same box; shortest ways
through this graph give the exact number of moves (or of pushes) a lone box needs to a target. With several boxes they
are lower bounds of what each box needs, because the others can only be in the way.
"""

from __future__ import annotations

import heapq
from collections import deque
from functools import cached_property, lru_cache

from tsrflow.components.envs.sokoban.level import Level

ACTIONS = ("Up", "Down", "Left", "Right")
NEVER = 1 << 30
"""Cost of what cannot be done."""
Costs = list[list[int]]
"""Per target (by position in ``targets``): cost per stand, ``cell * 4 + direction``."""


class Board:
    """Walls and targets of a level with their tables, which are computed on first use. Never changed afterwards."""

    def __init__(self, height: int, width: int, floor: tuple[int, ...], targets: tuple[int, ...]) -> None:
        self.height, self.width, self.floor, self.targets = height, width, floor, targets
        self.cells = height * width
        self.deltas = (-width, width, -1, 1)
        """Cell reached minus cell left, by direction (order of ``ACTIONS``)."""
        marks = bytearray(self.cells)
        for cell in floor:
            marks[cell] = 1
        self.open = bytes(marks)
        """1 for floor, 0 for walls."""
        marks = bytearray(self.cells)
        for cell in targets:
            marks[cell] = 1
        self.is_target = bytes(marks)
        self._lone: dict[tuple[int, int, int], tuple[int, ...]] = {}

    def walks(self, start: int, blocked: tuple[int, ...]) -> list[int]:
        """Moves from ``start`` to every cell around the boxes on ``blocked``, NEVER where there is no way."""
        found = [NEVER] * self.cells
        found[start] = 0
        queue = deque((start,))
        while queue:
            cell = queue.popleft()
            steps = found[cell] + 1
            for delta in self.deltas:
                near = cell + delta
                if found[near] > steps and self.open[near] and near not in blocked:
                    found[near] = steps
                    queue.append(near)
        return found

    @cached_property
    def reach(self) -> dict[int, list[int]]:
        """Per stand: moves to the player's place from every cell, with no box but the stand's own in the way."""
        ways = {}
        for box in self.floor:
            for direction, delta in enumerate(self.deltas):
                if self.open[box - delta]:
                    ways[box * 4 + direction] = self.walks(box - delta, (box,))
        return ways

    @cached_property
    def moves(self) -> Costs:
        """Fewest moves from a stand until its box is on a target, pushes and walks."""
        return [self._costs(target, walking=1) for target in self.targets]

    @cached_property
    def pushes(self) -> Costs:
        """Fewest pushes from a stand until its box is on a target."""
        return [self._costs(target, walking=0) for target in self.targets]

    @cached_property
    def dead(self) -> bytes:
        """1 for cells from which a box gets to no target, wherever the player is."""
        alive = {box for box in self.floor if any(t[box * 4 + d] < NEVER for t in self.pushes for d in range(4))}
        return bytes(cell not in alive for cell in range(self.cells))

    def _costs(self, target: int, walking: int) -> list[int]:
        """Dijkstra's algorithm backwards from a box on ``target``; a walk costs ``walking`` per move."""
        cost = [NEVER] * (self.cells * 4)
        queue = [(0, target * 4 + direction) for direction in range(4) if target * 4 + direction in self.reach]
        for _, stand in queue:
            cost[stand] = 0
        while queue:
            here, stand = heapq.heappop(queue)
            if here > cost[stand]:
                continue
            box, direction = divmod(stand, 4)
            steps: list[tuple[int, int]] = []
            before = box - self.deltas[direction]
            if before * 4 + direction in self.reach:
                steps.append((1, before * 4 + direction))
            for other in range(4):
                place = box - self.deltas[other]
                if other != direction and self.open[place] and self.reach[stand][place] < NEVER:
                    steps.append((walking * self.reach[stand][place], box * 4 + other))
            for step, earlier in steps:
                if here + step < cost[earlier]:
                    cost[earlier] = here + step
                    heapq.heappush(queue, (here + step, earlier))
        return cost

    def lone_moves(self, box: int, player: int) -> tuple[int, ...]:
        """Per target: least of ``moves`` among the stands that the player can walk to if no other box is there."""
        return self._least(0, self.moves, box, player)

    def lone_pushes(self, box: int, player: int) -> tuple[int, ...]:
        """The same of ``pushes``."""
        return self._least(1, self.pushes, box, player)

    def _least(self, kind: int, costs: Costs, box: int, player: int) -> tuple[int, ...]:
        known = self._lone.get((kind, box, player))
        if known is None:
            stands = [s for s in range(box * 4, box * 4 + 4) if s in self.reach and self.reach[s][player] < NEVER]
            known = tuple(
                0 if box == target else min((cost[s] for s in stands), default=NEVER)
                for target, cost in zip(self.targets, costs, strict=True)
            )
            self._lone[kind, box, player] = known
        return known

    def frozen(self, boxes: tuple[int, ...]) -> bool:
        """Whether some box off its target can never move again, as far as a simple rule sees it.

        A box cannot move along an axis if a wall is at one side, dead cells are at both, or a box at one side that is
        itself stuck (while this one is taken for a wall).
        """
        return any(not self.is_target[box] and self._stuck(box, boxes, frozenset()) for box in boxes)

    def _stuck(self, box: int, boxes: tuple[int, ...], as_walls: frozenset[int]) -> bool:
        walls = as_walls | {box}
        for step in (self.width, 1):
            sides = (box - step, box + step)
            if any(not self.open[side] or side in walls for side in sides):
                continue
            if self.dead[sides[0]] and self.dead[sides[1]]:
                continue
            if any(side in boxes and self._stuck(side, boxes, walls) for side in sides):
                continue
            return False
        return True


@lru_cache(maxsize=1024)
def board_of(level: Level) -> Board:
    """The board of ``level``; levels that differ in boxes and player only share it."""
    return _board(level.height, level.width, level.floor, level.targets)


@lru_cache(maxsize=1024)
def _board(height: int, width: int, floor: tuple[int, ...], targets: tuple[int, ...]) -> Board:
    return Board(height, width, floor, targets)
