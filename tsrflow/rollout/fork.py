"""Copying live episodes: how each fork capability remembers a state, and what one turn played from there gives.

The random-number policy lives in the seeds of a ``TurnJob``: a number restarts the dynamics stream before the turn
(``commit``, ``honest``), None lets the parent's stream run on (``clairvoyant``, only to reproduce published code).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tsrflow.config.base import ForkCapability
from tsrflow.protocols import Env
from tsrflow.types import Task

EnvFactory = Callable[[], Env]


@dataclass(frozen=True, slots=True)
class Handle:
    """What is kept of an episode to continue it later: a snapshot, a copied environment, or the way there."""

    task: Task
    value: Any
    turns: tuple[tuple[int | None, tuple[str, ...]], ...] = ()
    """(dynamics seed, actions) of every turn so far; only the ``replay`` capability needs them."""


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
    info: Mapping[str, Any] = field(default_factory=dict)
    score: float | None = None
    """Set only where a privileged scorer looked at the environment in this state."""


class Forker:
    """Turns handles into environments standing in that state, and back."""

    def __init__(self, factory: EnvFactory, capability: ForkCapability) -> None:
        self._factory = factory
        self._capability = capability
        self._env = factory()

    def root(self, task: Task, seed: int) -> tuple[str, Handle, Env]:
        """Start ``task`` with its dynamics stream at ``seed``: (observation, handle, environment)."""
        if self._capability == "deepcopy":
            self._env = self._factory()
        observation, _ = self._env.reset(task)
        self._env.seed_dynamics(seed)
        return observation, self._remember(self._env, task, ((seed, ()),)), self._env

    def enter(self, handle: Handle) -> Env:
        """An environment in the state of ``handle``; it is valid until the next call."""
        if self._capability == "snapshot":
            self._env.restore(handle.value)
        elif self._capability == "deepcopy":
            self._env = copy.deepcopy(handle.value)
        elif self._capability == "replay":
            self._env.reset(handle.task)
            for seed, actions in handle.turns:
                if seed is not None:
                    self._env.seed_dynamics(seed)
                for action in actions:
                    self._env.step(action)
        else:  # none: a linear rollout owns the one environment that made its handle
            self._env = handle.value
        return self._env

    def leave(self, env: Env, before: Handle, seed: int | None, actions: tuple[str, ...]) -> Handle:
        """Handle of the state that the entered ``env`` is in now, after ``actions`` were played from ``before``."""
        return self._remember(env, before.task, (*before.turns, (seed, actions)))

    def renew(self) -> None:
        """Drop the environment (it hangs or is broken) and build another."""
        self._env = self._factory()

    def _remember(self, env: Env, task: Task, turns: tuple[tuple[int | None, tuple[str, ...]], ...]) -> Handle:
        if self._capability == "snapshot":
            return Handle(task, env.snapshot())
        if self._capability == "replay":
            return Handle(task, None, turns)
        if self._capability == "none" and env is self._env:  # the handle takes the environment with it
            self._env = self._factory()
        return Handle(task, env)


def play_turn(
    forker: Forker,
    handle: Handle,
    seed: int | None,
    actions: tuple[str, ...],
    observation: str,
    beat: Callable[[], None],
) -> tuple[Outcome, Env]:
    """Play ``actions`` one by one until they are spent or the episode ends; ``beat`` is called before every step."""
    env = forker.enter(handle)
    if seed is not None:
        env.seed_dynamics(seed)
    reward, steps = 0.0, 0
    terminated = truncated = False
    info: Mapping[str, Any] = {}
    for action in actions:
        beat()
        observation, gained, terminated, truncated, info = env.step(action)
        reward += float(gained)
        steps += 1
        if terminated or truncated:
            break
    potential, state_hash = env.potential(), env.state_hash()
    after = forker.leave(env, handle, seed, actions)
    success = terminated and bool(info.get("success", False))
    return (
        Outcome(observation, reward, terminated, truncated, success, potential, state_hash, after, steps, info),
        env,
    )
