"""Sokoban written a second time, as plainly as can be, to compare with."""

from __future__ import annotations

import random
from collections import deque

from tsrflow.components.envs.sokoban.level import Level, LevelError, parse

State = tuple[tuple[int, int], frozenset[tuple[int, int]]]
STEPS = {"Up": (-1, 0), "Down": (1, 0), "Left": (0, -1), "Right": (0, 1)}


def cells(text: str, symbols: str) -> frozenset[tuple[int, int]]:
    return frozenset((r, c) for r, row in enumerate(text.split("\n")) for c, s in enumerate(row) if s in symbols)


def start(level: Level) -> State:
    text = level.text()
    (player,) = cells(text, "@+")
    return player, cells(text, "$*")


def play(level: Level, state: State, action: str) -> State:
    """The state after ``action``."""
    free = cells(level.text(), " .$*@+")
    (row, column), boxes = state
    down, across = STEPS[action]
    cell, beyond = (row + down, column + across), (row + 2 * down, column + 2 * across)
    if cell in boxes:
        return (cell, boxes - {cell} | {beyond}) if beyond in free - boxes else state
    return (cell, boxes) if cell in free else state


def solved(level: Level, state: State) -> bool:
    return state[1] == cells(level.text(), ".*+")


def shortest(level: Level, first: State | None = None, pushes: bool = False) -> int | None:
    """Moves (or pushes) of a solution with the fewest, None where there is none; looks at everything."""
    free, targets = cells(level.text(), " .$*@+"), cells(level.text(), ".*+")
    first = first or start(level)
    cost = {first: 0}
    queue = deque([first])
    best = None
    while queue:
        state = queue.popleft()
        (row, column), boxes = state
        if boxes == targets and (best is None or cost[state] < best):
            best = cost[state]
            if not pushes:
                return best
        for down, across in STEPS.values():
            cell, beyond = (row + down, column + across), (row + 2 * down, column + 2 * across)
            moved = boxes
            if cell in boxes:
                if beyond not in free or beyond in boxes:
                    continue
                moved = boxes - {cell} | {beyond}
            elif cell not in free:
                continue
            price = cost[state] + (1 if not pushes or moved != boxes else 0)
            if price < cost.get((cell, moved), 1 << 30):
                cost[cell, moved] = price
                (queue.appendleft if pushes and moved == boxes else queue.append)((cell, moved))
    return best


def random_level(seed: int, height: int, width: int, boxes: int, wall: float = 0.2) -> Level:
    """Walls, boxes, targets and player thrown in at random; most such levels have no solution."""
    dice = random.Random(seed)
    while True:
        rows = [["#"] * width for _ in range(height)]
        inside = [(r, c) for r in range(1, height - 1) for c in range(1, width - 1)]
        for r, c in inside:
            rows[r][c] = "#" if dice.random() < wall else " "
        free = [(r, c) for r, c in inside if rows[r][c] == " "]
        if len(free) < 2 * boxes + 1:
            continue
        for r, c in dice.sample(free, boxes):
            rows[r][c] = "."
        for r, c in dice.sample(free, boxes):
            rows[r][c] = "*" if rows[r][c] == "." else "$"
        r, c = dice.choice([cell for cell in free if rows[cell[0]][cell[1]] in " ."])
        rows[r][c] = "+" if rows[r][c] == "." else "@"
        try:
            return parse(["".join(row) for row in rows])
        except LevelError:  # an unreachable box or target may leave the counts, never the walls, in order
            continue
