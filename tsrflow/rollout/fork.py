"""Copying live episodes: how each fork capability remembers a state, and what one turn played from there gives.

The random-number policy lies in the dynamics seed of a turn: a number restarts the dynamics stream before the turn
(``commit``, ``honest``), None lets the parent's stream run on (``clairvoyant``, only to reproduce published code).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tsrflow.config.base import ForkCapability
from tsrflow.errors import RunError
from tsrflow.protocols import Env
from tsrflow.types import Task

EnvFactory = Callable[[], Env]
Beat = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Handle:
    """What is kept of an episode to continue it later: a snapshot, a copied environment, or the way there."""

    task: Task
    value: Any
    turns: tuple[tuple[int | None, tuple[str, ...]], ...] = ()
    """(dynamics seed, actions) of every turn so far; only the ``replay`` capability needs them."""
    state_hash: str = ""
    """Of the state; ``replay`` compares it with the one it arrives at."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One execution of a turn's actions from a handle."""

    observation: str
    reward: float
    terminated: bool
    truncated: bool
    success: bool
    potential: float | None
    state_hash: str
    handle: Handle
    steps: int
    """Calls of ``step``, those that replayed the way to the handle included."""
    info: Mapping[str, Any] = field(default_factory=dict)
    score: float | None = None
    """Set only where a privileged scorer looked at the environment in this state."""


class Forker:
    """Turns handles into environments standing in that state, and back. Belongs to one thread."""

    def __init__(self, factory: EnvFactory, capability: ForkCapability) -> None:
        self._factory = factory
        self._capability = capability
        self._env = factory()

    def root(self, task: Task, seed: int) -> tuple[str, Handle, Env]:
        """Start ``task`` with its dynamics stream at ``seed``: (observation, handle, environment)."""
        env = self._factory() if self._capability in ("deepcopy", "none") else self._env
        observation, _ = env.reset(task)
        env.seed_dynamics(seed)
        return observation, self._remember(env, task, ((seed, ()),)), env

    def enter(self, handle: Handle, beat: Beat) -> tuple[Env, int]:
        """(environment in the state of ``handle``, steps it took to get there); valid until the next call.

        With ``none`` it is the episode itself, so a handle can be entered once. Raises RunError where replaying a
        ``replay`` environment leads elsewhere.
        """
        if self._capability == "snapshot":
            self._env.restore(handle.value)
            return self._env, 0
        if self._capability == "deepcopy":
            return copy.deepcopy(handle.value), 0
        if self._capability == "replay":
            return self._env, self._replay(handle, beat)
        return handle.value, 0

    def leave(self, env: Env, before: Handle, seed: int | None, actions: tuple[str, ...]) -> Handle:
        """Handle of the state that the entered ``env`` is in now, after ``actions`` were played from ``before``."""
        return self._remember(env, before.task, (*before.turns, (seed, actions)))

    def _replay(self, handle: Handle, beat: Beat) -> int:
        steps = 0
        self._env.reset(handle.task)
        for seed, actions in handle.turns:
            if seed is not None:
                self._env.seed_dynamics(seed)
            for action in actions:
                beat()
                self._env.step(action)
                steps += 1
        if self._env.state_hash() != handle.state_hash:
            raise RunError(
                f"environment {type(self._env).__name__} declares fork 'replay', but playing the same actions of "
                f"{handle.task.id} again led to another state"
            )
        return steps

    def _remember(self, env: Env, task: Task, turns: tuple[tuple[int | None, tuple[str, ...]], ...]) -> Handle:
        if self._capability == "snapshot":
            return Handle(task, env.snapshot())
        if self._capability == "replay":
            return Handle(task, None, turns, env.state_hash())
        return Handle(task, env)


def play_turn(
    forker: Forker, handle: Handle, seed: int | None, actions: tuple[str, ...], observation: str, beat: Beat
) -> tuple[Outcome, Env]:
    """Play ``actions`` one by one until they are spent or the episode ends; ``beat`` is called before every step.

    ``observation`` is what the policy saw last. Raises ValueError where the environment returns an observation that is
    no text, or a reward or potential that is not finite.
    """
    beat()
    env, steps = forker.enter(handle, beat)
    if seed is not None:
        env.seed_dynamics(seed)
    played: list[str] = []
    reward = 0.0
    terminated = truncated = False
    info: Mapping[str, Any] = {}
    for action in actions:
        beat()
        observation, gained, terminated, truncated, info = env.step(action)
        played.append(action)
        reward += float(gained)
        if terminated or truncated:
            break
    potential, state_hash = env.potential(), env.state_hash()
    if not isinstance(observation, str) or not math.isfinite(reward) or not math.isfinite(potential or 0.0):
        raise ValueError(
            f"step gave observation {observation!r}, reward {reward} and potential {potential}; they must be text "
            "and finite numbers"
        )
    after = forker.leave(env, handle, seed, tuple(played))
    success = bool(terminated) and bool(info.get("success", False))
    steps += len(played)
    outcome = Outcome(
        observation, reward, bool(terminated), bool(truncated), success, potential, state_hash, after, steps, info
    )
    return outcome, env
