"""``env=sokoban``: text observations, gym-sokoban's rewards, exact O(1) forks.

The four actions walk, or push where a box is in the way; where neither can be, nothing moves but the step counts.
Rewards: -0.1 per step, +1 when a box gets onto a target, -1 when one gets off, +10 when all are on targets.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from tsrflow import streams
from tsrflow.components.envs.sokoban.board import ACTIONS, board_of
from tsrflow.components.envs.sokoban.config import Observation, SokobanConfig
from tsrflow.components.envs.sokoban.files import load_levels
from tsrflow.components.envs.sokoban.generator import generate
from tsrflow.components.envs.sokoban.level import Level, parse, show
from tsrflow.components.envs.sokoban.progress import moves_left, potential
from tsrflow.components.envs.splits import split_of
from tsrflow.types import Split, Task

STEP, ON_TARGET, OFF_TARGET, SOLVED = -0.1, 1.0, -1.0, 10.0
_CANONICAL = {name.lower(): name for name in ACTIONS}
_NO_LEVEL = parse(["#####", "#@$.#", "#####"])
"""Where an environment stands before its first reset."""


class _Scene:
    """A level with what every step on it needs; shared by episodes, so nothing of an episode is kept here."""

    __slots__ = ("board", "deltas", "level", "names", "open", "suffix", "targets")

    def __init__(self, level: Level) -> None:
        self.level = level
        self.board = board_of(level)
        self.open = self.board.open
        self.targets = frozenset(level.targets)
        self.deltas = dict(zip(ACTIONS, self.board.deltas, strict=True))
        self.names = [level.name(cell) for cell in range(level.height * level.width)]
        walls = [
            row * level.width + column
            for row in range(1, level.height - 1)
            for column in range(1, level.width - 1)
            if not self.open[row * level.width + column]
        ]
        self.suffix = f" O {self.listed(level.targets)} # {self.listed(walls) or 'none'}"

    def listed(self, cells: Sequence[int]) -> str:
        return " ".join([self.names[cell] for cell in cells])


@lru_cache(maxsize=4096)
def _scene(level: Level) -> _Scene:
    return _Scene(level)


@lru_cache(maxsize=64)
def _numbers_in_split(levels: str, split: Split) -> tuple[int, ...]:
    """Numbers of the levels of a file or folder whose layout belongs to ``split``."""
    return tuple(number for number, level in enumerate(load_levels(levels)) if split_of(level.text()) == split)


class Sokoban:
    """The environment; a snapshot is a tuple of six references and numbers."""

    __slots__ = ("_boxes", "_budget", "_done", "_on", "_player", "_scene", "_used", "_view", "config")

    def __init__(self, config: SokobanConfig) -> None:
        self.config = config
        self._budget = config.action_budget
        self._view: Observation = config.observation
        self._scene: _Scene
        self._player: int
        self._boxes: tuple[int, ...]
        self._on: int
        self._used: int
        self._start(_NO_LEVEL)
        self._done = True

    @property
    def level(self) -> Level:
        """The level of the current episode, as it began."""
        return self._scene.level

    @property
    def boxes(self) -> tuple[int, ...]:
        """Cells of the boxes now, in order."""
        return self._boxes

    def instructions(self, brief: bool) -> str:
        if brief:
            return "Push X to O."
        grid = "# wall, _ floor, O target, X box, √ box on target, P you, S you on a target."
        coords = "Coordinates are row,column: P you, X boxes, O targets, # walls inside the outer wall."
        legend = {"grid": grid, "coords": coords, "grid+coords": f"{grid} {coords}"}[self._view]
        return (
            "Sokoban: push every box onto a target. You walk one cell at a time; walking into a box pushes it, if the "
            f"cell behind it is free. Boxes cannot be pulled, so one in a corner is lost. {legend} "
            f"Actions: {', '.join(ACTIONS)}. Each action costs 0.1, a box on a target gives 1, all of them 10 more."
        )

    def task(self, split: Split, index: int) -> Task:
        if self.config.levels is None:
            if index < 0:
                raise IndexError(f"task index {index} is negative")
            return Task("sokoban", split, index, streams.fold(0, "sokoban", split, index))
        numbers = _numbers_in_split(self.config.levels, split)
        if index < 0 or not numbers or (split != "train" and index >= len(numbers)):
            raise IndexError(f"env.levels={self.config.levels} has {len(numbers)} levels for the {split} split")
        return Task("sokoban", split, index, numbers[index % len(numbers)])

    def reset(self, task: Task) -> tuple[str, dict[str, Any]]:
        self._start(self._draw(task))
        return self._observe(), {"success": False}

    def seed_dynamics(self, seed: int) -> None:
        """Nothing here is random."""

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        scene = self._scene
        delta = scene.deltas.get(action)
        if delta is None or self._done:
            return self._observe(), 0.0, False, False, {"success": False, "invalid": True}
        reward = STEP
        cell, boxes = self._player + delta, self._boxes
        effective = scene.open[cell] == 1
        if cell in boxes:
            beyond = cell + delta
            effective = scene.open[beyond] == 1 and beyond not in boxes
            if effective:
                self._boxes = tuple(sorted([beyond if box == cell else box for box in boxes]))
                change = (beyond in scene.targets) - (cell in scene.targets)
                if change:
                    self._on += change
                    reward += ON_TARGET if change > 0 else OFF_TARGET
        if effective:
            self._player = cell
        self._used += 1
        success = self._on == len(boxes)
        if success:
            reward += SOLVED
        truncated = not success and self._used >= self._budget
        self._done = success or truncated
        return self._observe(), reward, success, truncated, {"success": success, "effective": effective}

    def parse_action(self, text: str) -> str | None:
        return _CANONICAL.get(text.strip().lower()) if len(text) < 16 else None

    def legal_actions(self) -> Sequence[str]:
        return () if self._done else ACTIONS

    def snapshot(self) -> tuple[_Scene, int, tuple[int, ...], int, int, bool]:
        return self._scene, self._player, self._boxes, self._on, self._used, self._done

    def restore(self, snapshot: tuple[_Scene, int, tuple[int, ...], int, int, bool]) -> None:
        self._scene, self._player, self._boxes, self._on, self._used, self._done = snapshot

    def state_hash(self) -> str:
        level = self._scene.level
        return f"{show(level, self._player, self._boxes)}:{self._budget - self._used}"

    def potential(self) -> float | None:
        return potential(moves_left(self._scene.board, self._player, self._boxes), self._budget)

    def render_ansi(self) -> str:
        return show(self._scene.level, self._player, self._boxes)

    def _start(self, level: Level) -> None:
        self._scene = scene = _scene(level)
        self._player, self._boxes, self._used, self._done = level.player, level.boxes, 0, False
        self._on = sum(box in scene.targets for box in level.boxes)

    def _draw(self, task: Task) -> Level:
        config = self.config
        if config.levels is not None:
            return load_levels(config.levels)[task.seed]
        room = config.size, config.boxes, config.search_depth, config.min_moves, config.longest
        return generate(task.seed, task.split, *room)

    def _observe(self) -> str:
        if self._view == "coords":
            return self._coords()
        grid = show(self._scene.level, self._player, self._boxes)
        return grid if self._view == "grid" else f"{grid}\n{self._coords()}"

    def _coords(self) -> str:
        scene = self._scene
        return f"P {scene.names[self._player]} X {scene.listed(self._boxes)}{scene.suffix}"
