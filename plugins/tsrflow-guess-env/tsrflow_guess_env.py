"""``env=guess``: find a secret number; every guess is answered by what is still possible."""

from __future__ import annotations

import math
from typing import Any, Literal

from pydantic import Field

from tsrflow import streams
from tsrflow.components.envs.splits import task_in_split
from tsrflow.config.base import EnvConfig
from tsrflow.registry import Registry, hookimpl
from tsrflow.types import Split, Task


class GuessConfig(EnvConfig):
    """Settings of ``env=guess``."""

    name: Literal["guess"] = "guess"
    max_turns: int = Field(default=4, ge=1)
    """Turns (sampled messages) per trajectory."""
    actions_per_turn: int = Field(default=1, ge=1)
    """Guesses per turn; further ones in the same answer are cut."""
    span: int = Field(default=16, ge=2, le=500)
    """How many numbers it can be."""


class GuessEnv:
    """The state is five numbers, so a snapshot is a tuple and a fork costs nothing."""

    def __init__(self, config: GuessConfig) -> None:
        self.config = config
        self._numbers = range(1, config.span + 1)
        self._secret, self._low, self._high, self._left = 1, 1, config.span, 0

    def instructions(self, brief: bool) -> str:
        rules = "Guess the number."
        return rules if brief else f"{rules} You are shown the least and the largest that it can be."

    def task(self, split: Split, index: int) -> Task:
        return task_in_split("guess", split, index, lambda seed: str(self._draw(seed)))

    def reset(self, task: Task) -> tuple[str, dict[str, Any]]:
        self._numbers, self._secret = self._draw(task.seed)
        self._low, self._high = self._numbers[0], self._numbers[-1]
        self._left = self.config.max_turns * self.config.actions_per_turn
        return self.render_ansi(), {"success": False}

    def seed_dynamics(self, seed: int) -> None:
        """Nothing here is random."""

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        if action not in self.legal_actions():
            return self.render_ansi(), 0.0, False, False, {"success": False, "invalid": True}
        guess = int(action)
        self._left -= 1
        if guess <= self._secret:
            self._low = max(self._low, guess + (guess < self._secret))
        if guess >= self._secret:
            self._high = min(self._high, guess - (guess > self._secret))
        found = guess == self._secret
        truncated = not found and self._left == 0
        if found:
            self._left = 0
        return self.render_ansi(), float(found), found, truncated, {"success": found}

    def parse_action(self, text: str) -> str | None:
        text = text.strip()
        return str(int(text)) if text.isascii() and text.isdigit() and len(text) < 5 else None

    def legal_actions(self) -> list[str]:
        return [str(number) for number in self._numbers] if self._left else []

    def snapshot(self) -> tuple[range, int, int, int, int]:
        return self._numbers, self._secret, self._low, self._high, self._left

    def restore(self, snapshot: tuple[range, int, int, int, int]) -> None:
        self._numbers, self._secret, self._low, self._high, self._left = snapshot

    def state_hash(self) -> str:
        return str(self.snapshot())

    def potential(self) -> float | None:
        """Share of the bits that are known; it can be seen in the observation, so it gives nothing away."""
        return 1.0 - math.log(self._high - self._low + 1) / math.log(self.config.span)

    def render_ansi(self) -> str:
        return f"{self._low} to {self._high}"

    def _draw(self, seed: int) -> tuple[range, int]:
        """The numbers that are possible, and the secret one."""
        least = 1 + streams.fold(seed, "least") % 50
        numbers = range(least, least + self.config.span)
        return numbers, numbers[streams.fold(seed, "secret") % len(numbers)]


@hookimpl
def tsrflow_register(registry: Registry) -> None:
    """The one hook of a tsrflow plugin."""
    registry.add("env", "guess", config=GuessConfig, factory=GuessEnv, summary="guess a number, higher or lower")
