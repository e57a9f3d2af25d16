"""``env=frozenlake``: cross a frozen lake without falling into a hole; text observations, exact O(1) forks.

Dynamics are Gymnasium's: the intended move happens with probability ``slip``, otherwise one of the two perpendicular
moves, each equally likely; a move against the border stays. Map, start and goal come from the task seed and are
solvable by construction. The potential is analytic: the discounted probability of success under best play, from the
transition table, so it knows the risk of slipping into a hole.

All that depends on a map only (observations, potential, key) is computed once per map and shared by all episodes on it,
so a step is a few table look-ups.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from pydantic import Field

from tsrflow import streams
from tsrflow.components.envs.splits import task_in_split
from tsrflow.config.base import EnvConfig
from tsrflow.types import Split, Task

ACTIONS = ("Left", "Down", "Right", "Up")
_CANONICAL = {name.lower(): name for name in ACTIONS}
_NUMBER = {name: number for number, name in enumerate(ACTIONS)}
_MOVES = ((0, -1), (1, 0), (0, 1), (-1, 0))
_TRIES = 200
_HORIZON_DISCOUNT = 0.9

Observation = Literal["coords", "grid", "grid+coords"]


class FrozenLakeConfig(EnvConfig):
    """Size, ice and observation of the lakes."""

    name: Literal["frozenlake"] = "frozenlake"
    max_turns: int = Field(default=3, ge=1)
    """Turns (sampled messages) per trajectory; with two actions each, the longest way on a small lake just fits."""
    size: int = Field(default=4, ge=4, le=16)
    """Rows and columns."""
    slip: float = Field(default=1.0, gt=0, le=1)
    """Probability of the intended move; the rest is shared by the two perpendicular ones. 1 means no slipping."""
    frozen: float = Field(default=0.9, gt=0, le=1)
    """Probability that a cell is ice rather than a hole."""
    observation: Observation = "coords"
    """What the policy sees."""
    min_distance: int = Field(default=3, ge=1, le=6)
    """Fewest moves from start to goal."""
    random_ends: bool = True
    """Draw start and goal with the map; else top left and bottom right."""
    max_actions: int | None = Field(default=None, ge=1)
    """Actions until the episode is truncated; None: as many as the turns allow."""

    @property
    def deterministic(self) -> bool:
        return self.slip == 1.0

    @property
    def action_budget(self) -> int:
        """Actions an episode can have."""
        return self.max_actions or self.max_turns * self.actions_per_turn


@dataclass(frozen=True, slots=True)
class Lake:
    """A map: ``holes`` and ends as cell numbers (row * size + column)."""

    size: int
    holes: frozenset[int]
    start: int
    goal: int

    @property
    def key(self) -> str:
        """Text that identifies the layout."""
        return f"{self.size}:{self.start}:{self.goal}:{','.join(map(str, sorted(self.holes)))}"


def draw_lake(seed: int, size: int, frozen: float, random_ends: bool, least: int, budget: int) -> Lake:
    """The lake of ``seed``: the way around all holes takes at least ``least`` and at most ``budget`` moves.

    After many vain tries (or with fixed ends that lie further apart) only a way of any length is asked for; the last
    resort is open ice.
    """
    rng = streams.generator(seed)
    cells = size * size
    start, goal = 0, cells - 1
    for attempt in range(_TRIES):
        if random_ends:
            start, goal = (int(cell) for cell in rng.choice(cells, size=2, replace=False))
        ice = rng.random(cells) < frozen
        holes = frozenset(int(c) for c in np.flatnonzero(~ice) if c not in (start, goal))
        lake = Lake(size, holes, start, goal)
        steps = distances(lake)[start]
        if steps is not None and (least <= steps <= budget or attempt >= _TRIES // 2):
            return lake
    return Lake(size, frozenset(), start, goal)


def distances(lake: Lake) -> list[int | None]:
    """Moves to the goal around the holes for every cell; None where it cannot be reached (and for holes)."""
    found: list[int | None] = [None] * (lake.size**2)
    found[lake.goal] = 0
    queue = deque([lake.goal])
    while queue:
        cell = queue.popleft()
        here = found[cell]
        assert here is not None
        for neighbour in moves(lake.size)[cell]:
            if found[neighbour] is None and neighbour not in lake.holes:
                found[neighbour] = here + 1
                queue.append(neighbour)
    return found


@lru_cache(maxsize=32)
def moves(size: int) -> tuple[tuple[int, int, int, int], ...]:
    """Cell reached from each cell by each action, without slipping."""

    def target(cell: int, action: int) -> int:
        row, column = cell // size + _MOVES[action][0], cell % size + _MOVES[action][1]
        return row * size + column if 0 <= row < size and 0 <= column < size else cell

    return tuple((target(cell, 0), target(cell, 1), target(cell, 2), target(cell, 3)) for cell in range(size * size))


@lru_cache(maxsize=4096)
def potentials(lake: Lake, slip: float) -> tuple[float, ...]:
    """Per cell: max over policies of E[0.9**steps * success]; 1 on the goal, -1 in a hole."""
    cells = lake.size**2
    table = np.asarray(moves(lake.size))
    side = (1.0 - slip) / 2.0
    outcome = np.stack([table[:, [(a - 1) % 4, a, (a + 1) % 4]] for a in range(4)], axis=1)  # [cells, 4, 3]
    chance = np.array([side, slip, side])
    holes = np.fromiter(lake.holes, dtype=np.int64, count=len(lake.holes))
    value = np.zeros(cells)
    value[lake.goal] = 1.0
    for _ in range(1000):
        updated = _HORIZON_DISCOUNT * (value[outcome] @ chance).max(axis=1)
        updated[lake.goal] = 1.0
        updated[holes] = 0.0
        change = float(np.abs(updated - value).max())
        value = updated
        if change < 1e-9:
            break
    value[holes] = -1.0
    return tuple(float(v) for v in value)


@lru_cache(maxsize=65536)
def _lake(seed: int, size: int, frozen: float, random_ends: bool, least: int, budget: int) -> Lake:
    return draw_lake(seed, size, frozen, random_ends, least, budget)


class _Board:
    """A lake with what is worth remembering about it; shared by episodes, so nothing of an episode is kept here."""

    __slots__ = ("ends", "key", "lake", "seen", "slip", "view")

    def __init__(self, lake: Lake, slip: float, view: Observation) -> None:
        self.lake, self.slip, self.view = lake, slip, view
        self.key = lake.key
        self.ends = bytes((cell == lake.goal) + 2 * (cell in lake.holes) for cell in range(lake.size**2))
        """Per cell: 1 the goal, 2 a hole, 0 neither."""
        self.seen: list[str | None] = [None] * len(self.ends)

    def observe(self, cell: int) -> str:
        """What the policy sees when it stands on ``cell``."""
        seen = self.seen[cell]
        if seen is None:
            views = {"coords": self.coords, "grid": self.grid}
            seen = "\n".join(views[part](cell) for part in self.view.split("+"))
            self.seen[cell] = seen
        return seen

    def coords(self, cell: int) -> str:
        size, lake = self.lake.size, self.lake
        player, goal, *holes = (f"{c // size},{c % size}" for c in (cell, lake.goal, *sorted(lake.holes)))
        return f"P {player} G {goal} O {' '.join(holes) or 'none'}"

    def grid(self, cell: int) -> str:
        lake, size = self.lake, self.lake.size
        symbols = ["O" if c in lake.holes else "_" for c in range(size * size)]
        symbols[lake.goal] = "G"
        symbols[cell] = "P√X"[self.ends[cell]]
        return "\n".join("".join(symbols[row * size : (row + 1) * size]) for row in range(size))


@lru_cache(maxsize=4096)
def _board(lake: Lake, slip: float, view: Observation) -> _Board:
    return _Board(lake, slip, view)


class FrozenLake:
    """The environment; a snapshot is a tuple of five references and numbers."""

    __slots__ = ("_board", "_budget", "_cell", "_done", "_moves", "_slip", "_stream", "_used", "config")

    def __init__(self, config: FrozenLakeConfig) -> None:
        self.config = config
        self._slip = config.slip
        self._budget = config.action_budget
        self._moves = moves(config.size)
        self._board = _board(Lake(config.size, frozenset(), 0, config.size**2 - 1), config.slip, config.observation)
        self._cell = 0
        self._used = 0
        self._done = True
        self._stream = 0

    @property
    def lake(self) -> Lake:
        """The map of the current episode."""
        return self._board.lake

    def instructions(self, brief: bool) -> str:
        if brief:
            return "Walk P to G, avoid O."
        grid = "" if self.config.observation == "coords" else " In the grid P is you, _ ice, O a hole, G the goal."
        coords = "" if self.config.observation == "grid" else " Coordinates are row,column: P you, G goal, O holes."
        slips = (
            ""
            if self._slip == 1.0
            else f" The ice is slippery: a move goes astray {100 * (1 - self._slip):.0f}% of the time."
        )
        return (
            f"You stand on a frozen lake of {self.config.size}x{self.config.size} cells. "
            "Reach the goal without falling into a hole."
            f"{grid}{coords}{slips} Actions: {', '.join(ACTIONS)}."
        )

    def task(self, split: Split, index: int) -> Task:
        return task_in_split("frozenlake", split, index, lambda seed: self._draw(seed).key)

    def reset(self, task: Task) -> tuple[str, dict[str, Any]]:
        self._board = _board(self._draw(task.seed), self._slip, self.config.observation)
        self._cell, self._used, self._done = self._board.lake.start, 0, False
        self.seed_dynamics(task.seed)
        return self._board.observe(self._cell), {"success": False}

    def seed_dynamics(self, seed: int) -> None:
        self._stream = streams.fold(seed, "slip")

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        number = _NUMBER.get(action)
        board = self._board
        if number is None or self._done:
            return board.observe(self._cell), 0.0, False, False, {"success": False, "invalid": True}
        if self._slip < 1.0:
            self._stream, uniform = streams.draw(self._stream)
            if uniform >= self._slip:
                number = (number + (1 if uniform >= (1.0 + self._slip) / 2.0 else 3)) % 4
        self._cell = cell = self._moves[self._cell][number]
        self._used = used = self._used + 1
        observation = board.seen[cell] or board.observe(cell)
        end = board.ends[cell]
        if end:
            self._done = True
            return observation, 1.0 if end == 1 else 0.0, True, False, {"success": end == 1}
        if used >= self._budget:
            self._done = True
            return observation, 0.0, False, True, {"success": False}
        return observation, 0.0, False, False, {"success": False}

    def parse_action(self, text: str) -> str | None:
        return _CANONICAL.get(text.strip().lower()) if len(text) < 16 else None

    def legal_actions(self) -> Sequence[str]:
        return () if self._done else ACTIONS

    def snapshot(self) -> tuple[_Board, int, int, bool, int]:
        return self._board, self._cell, self._used, self._done, self._stream

    def restore(self, snapshot: tuple[_Board, int, int, bool, int]) -> None:
        self._board, self._cell, self._used, self._done, self._stream = snapshot

    def state_hash(self) -> str:
        return f"{self._board.key}@{self._cell}:{self._budget - self._used}"

    def potential(self) -> float | None:
        return potentials(self._board.lake, self._slip)[self._cell]

    def render_ansi(self) -> str:
        return self._board.grid(self._cell)

    def _draw(self, seed: int) -> Lake:
        config = self.config
        return _lake(seed, config.size, config.frozen, config.random_ends, config.min_distance, self._budget)
