"""Levels from a seed: carve a room, put boxes on targets, play in reverse, and keep a start whose solution fits.

Reverse play pulls boxes away from their targets, so whatever it reaches can be solved. A solver then measures the
shortest solution and the generator tries again, a bounded number of times, until that is as long as was asked for.
"""

from __future__ import annotations

from collections import deque
from functools import lru_cache

from tsrflow import streams
from tsrflow.components.envs.sokoban.board import Board, board_of
from tsrflow.components.envs.sokoban.level import Level
from tsrflow.components.envs.sokoban.solver import State, solve
from tsrflow.components.envs.splits import split_of
from tsrflow.types import Split

TURN = 35
"""Chance in percent that the carving walk turns at a step."""
PULL = 75
"""Chance in percent that reverse play takes the box behind the player along."""
CARVED = 12
"""Steps of the carving walk per ten cells inside the outer wall."""
PICKS = 3
"""Starts tried per room, from the third of all whose boxes are farthest from targets."""
ROOMS = 200
"""Rooms tried before the wishes on the length are given up one after the other."""
STATES = 4_000
"""States the solver may look at per start."""


class _Dice:
    """A light random stream that deals sixteen bits at a time."""

    def __init__(self, seed: int) -> None:
        self._state = streams.fold(seed, "sokoban")
        self._bits = 1

    def below(self, n: int) -> int:
        """A number from 0 to n - 1, for n far below 65536."""
        bits = self._bits
        if bits == 1:  # only the mark that stands above the last bits is left
            self._state, uniform = streams.draw(self._state)
            bits = int(uniform * 2.0**48) | 1 << 48
        self._bits = bits >> 16
        return (bits & 0xFFFF) * n >> 16

    def percent(self, chance: int) -> bool:
        return self.below(100) < chance


@lru_cache(maxsize=65536)
def generate(seed: int, split: Split, size: int, boxes: int, depth: int, least: int, most: int) -> Level:
    """The level of ``seed``: ``size`` rows and columns, ``boxes`` boxes, solvable in ``least`` to ``most`` moves.

    Its layout belongs to ``split``, whatever the seed. ``depth`` reverse moves are played per room. Where ``ROOMS``
    rooms give nothing of that length, any start met in the next ``ROOMS`` is taken; the last resort is a room
    with every box beside its target.
    """
    dice = _Dice(seed)
    for attempt in range(2 * ROOMS):
        floor = carve(dice, size, CARVED * (size - 2) ** 2 // 10)
        if len(floor) < 2 * boxes + 2:
            continue
        places = list(floor)
        targets = tuple(sorted(places.pop(dice.below(len(places))) for _ in range(boxes)))
        solved = Level(size, size, floor, targets, targets, places[dice.below(len(places))])
        starts = _reverse_play(dice, solved, depth)
        picks = 0
        while starts and picks < PICKS:
            player, moved = starts.pop(dice.below(len(starts)))
            level = Level(size, size, floor, targets, moved, player)
            if split_of(level.text()) == split:
                picks += 1
                if attempt >= ROOMS or _fits(level, least, most):
                    return level
    return _last_resort(dice, split, size, boxes)


def carve(dice: _Dice, size: int, steps: int) -> tuple[int, ...]:
    """Floor of a connected room within the outer wall: a random walk that opens every cell it meets and one beside."""
    inside = size - 2
    row, column, direction = dice.below(inside), dice.below(inside), dice.below(4)
    open_cells = {(row, column)}
    for _ in range(steps):
        if dice.percent(TURN):
            direction = dice.below(4)
        open_cells.add(_beside(row, column, dice.below(4), inside))
        row, column = _beside(row, column, direction, inside)
        open_cells.add((row, column))
    return tuple(sorted((r + 1) * size + c + 1 for r, c in open_cells))


def _beside(row: int, column: int, direction: int, inside: int) -> tuple[int, int]:
    """The cell next to (row, column), or the same one at the border of the ``inside`` rows and columns."""
    down, across = ((-1, 0), (1, 0), (0, -1), (0, 1))[direction]
    return min(max(row + down, 0), inside - 1), min(max(column + across, 0), inside - 1)


def _reverse_play(dice: _Dice, solved: Level, depth: int) -> list[State]:
    """States met by ``depth`` random reverse moves, no box being on a target: the third with the farthest boxes."""
    board = board_of(solved)
    player, boxes = solved.player, set(solved.boxes)
    met: dict[State, None] = {}
    for _ in range(depth):
        delta = board.deltas[dice.below(4)]
        if not board.open[player + delta] or player + delta in boxes:
            continue
        if player - delta in boxes and dice.percent(PULL):
            boxes.remove(player - delta)
            boxes.add(player)
        player += delta
        if not any(board.is_target[box] for box in boxes):
            met[player, tuple(sorted(boxes))] = None
    width = board.width

    def spread(state: State) -> int:
        return sum(
            min(abs(b // width - t // width) + abs(b % width - t % width) for t in board.targets) for b in state[1]
        )

    return sorted(met, key=spread)[2 * len(met) // 3 :]


def _fits(level: Level, least: int, most: int) -> bool:
    if len(level.boxes) == 1:
        moves = _shortest_of_one(board_of(level), level.player, level.boxes[0], most)
        return moves is not None and moves >= least
    found = solve(level, longest=most, states=STATES)
    return found.actions is not None and len(found.actions) >= least


def _shortest_of_one(board: Board, player: int, box: int, most: int) -> int | None:
    """Moves of the shortest solution with one box, if at most ``most``: plain breadth-first search, no tables."""
    seen = {(player, box)}
    queue = deque(((player, box, 0),))
    while queue:
        player, box, used = queue.popleft()
        if used == most:
            return None
        for delta in board.deltas:
            cell = player + delta
            moved = box
            if cell == box:
                moved = box + delta
                if board.is_target[moved]:
                    return used + 1
                if not board.open[moved]:
                    continue
            if board.open[cell] and (cell, moved) not in seen:
                seen.add((cell, moved))
                queue.append((cell, moved, used + 1))
    return None


def _last_resort(dice: _Dice, split: Split, size: int, boxes: int) -> Level:
    """A column of boxes, targets beside them, the player somewhere on the other side, and random walls beyond.

    Raises IndexError where not even that gives a layout of ``split`` (tiny rooms full of boxes).
    """
    inside = [row * size + column for row in range(1, size - 1) for column in range(1, size - 1)]
    for _ in range(1000):
        beside = 1 - 2 * dice.below(2)
        column = 2 + dice.below(size - 4)
        top = 1 + dice.below(size - 1 - boxes)
        pushed = tuple(row * size + column for row in range(top, top + boxes))
        targets = tuple(box + beside for box in pushed)
        near = [cell for cell in inside if (cell % size - column) * beside < 0]
        beyond = [cell for cell in inside if (cell % size - column) * beside > 1 and dice.below(2)]
        floor = tuple(cell for cell in inside if cell not in beyond)
        level = Level(size, size, floor, targets, pushed, near[dice.below(len(near))])
        if split_of(level.text()) == split:
            return level
    raise IndexError(f"no level of {size} rows with {boxes} boxes found for the {split} split; use a larger env.size")
