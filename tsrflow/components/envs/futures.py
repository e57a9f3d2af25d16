"""What can be seen of an episode, and whether copies of a state live on as the original would have.

The *future* of a state is all that a policy or a search could see of it: observations, rewards, ends, success, state
hashes, potentials and legal actions along a fixed sequence of actions. ``tsrflow.testing.check_env`` demands this of an
environment; ``env=gymnasium`` finds out by it what a foreign environment can do.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from tsrflow import streams
from tsrflow.config.base import ForkCapability
from tsrflow.protocols import Env
from tsrflow.types import Task

T = TypeVar("T")
DYNAMICS_SEEDS = 8
"""Restarts of the dynamics stream that a state is continued with."""


class ForkFaultError(Exception):
    """A copy of a state does not do what its fork capability promises; the message says where they part."""


@dataclass(frozen=True, slots=True)
class Moment:
    """What can be seen of a state, and of the step that led there."""

    observation: str
    reward: float
    terminated: bool
    truncated: bool
    success: bool
    invalid: bool
    state_hash: str
    potential: float | None
    legal: tuple[str, ...]

    @property
    def done(self) -> bool:
        return self.terminated or self.truncated


@dataclass(frozen=True, slots=True)
class Walk:
    """``moments[i]`` is the state before ``actions[i]``; one moment more than actions."""

    actions: tuple[str, ...]
    moments: tuple[Moment, ...]

    @property
    def half(self) -> int:
        """Position of the state in the middle."""
        return len(self.actions) // 2


@dataclass(frozen=True, slots=True)
class Player:
    """How a task is started and a step is played; what checks more than this function does brings its own."""

    start: Callable[[Env, Task], Moment]
    step: Callable[[Env, str], Moment]

    def play(self, env: Env, task: Task, actions: Sequence[str]) -> tuple[Moment, ...]:
        """Reset and play; ``env`` is then in the state after the last of ``actions``."""
        return (self.start(env, task), *(self.step(env, action) for action in actions))


def differ(one: Sequence[Moment], other: Sequence[Moment]) -> str:
    """The first difference between two futures, or the empty string."""
    for number, (a, b) in enumerate(zip(one, other, strict=False)):
        for name in Moment.__dataclass_fields__:
            here, there = getattr(a, name), getattr(b, name)
            if here != there:
                return f"{name} at step {number} is {shown(str(here))}, then {shown(str(there))}"
    return "" if len(one) == len(other) else f"one ends after {len(one)} steps, the other after {len(other)}"


def shown(text: str) -> str:
    """``text`` quoted, cut where it is long."""
    return repr(text) if len(text) < 60 else f"{text[:20]!r}… ({len(text)} characters)"


def forked_futures(
    env: Env, task: Task, walk: Walk, elsewhere: Task, capability: ForkCapability, player: Player
) -> list[tuple[Moment, ...]]:
    """Copy the state in the middle of ``walk`` by ``capability`` and continue the copies.

    A copy must have the future of the original, at once, after the original went on, and after a task ``elsewhere``
    was played. The result is one future per dynamics seed (``DYNAMICS_SEEDS`` of them).

    Raises ForkFaultError where a copy has another future, or where one dynamics seed has two.
    """
    before, rest = walk.actions[: walk.half], walk.actions[walk.half :]
    forked = _copier(env, task, before, capability, player)
    disturbances: tuple[tuple[str, Callable[[], object]], ...] = (
        ("at once", lambda: None),
        ("after the same episode went on", lambda: [player.step(env, action) for action in rest]),
        ("after another task was played", lambda: player.play(env, elsewhere, walk.actions[:1])),
    )
    for when, disturb in disturbances:
        disturb()
        copied = forked()
        key, there = copied.state_hash(), walk.moments[walk.half].state_hash
        if key != there:
            raise ForkFaultError(f"a state restored {when} has state_hash {key!r}; it was {there!r}")
        difference = differ(walk.moments[walk.half + 1 :], [player.step(copied, action) for action in rest])
        if difference:
            raise ForkFaultError(
                f"a state restored {when} must have the same future (dynamics stream included), but {difference}"
            )
    futures = []
    for number in [*range(DYNAMICS_SEEDS), 0]:
        copied = forked()
        copied.seed_dynamics(streams.fold(number, "check"))
        futures.append(tuple(player.step(copied, action) for action in rest))
    difference = differ(futures[0], futures.pop())
    if difference:
        raise ForkFaultError(f"one state and one dynamics seed had two futures: {difference}")
    return futures


def _copier(
    env: Env, task: Task, before: Sequence[str], capability: ForkCapability, player: Player
) -> Callable[[], Env]:
    """Function that gives an environment in the state after ``before``, any number of times."""
    player.play(env, task, before)
    if capability == "snapshot":
        kept = _tried("snapshot()", env.snapshot)

        def restored() -> Env:
            _tried("restore()", lambda: env.restore(kept))
            return env

        return restored
    if capability == "deepcopy":
        held = copy.deepcopy(env)
        return lambda: copy.deepcopy(held)

    def replayed() -> Env:
        player.play(env, task, before)
        return env

    return replayed


def _tried(what: str, function: Callable[[], T]) -> T:
    try:
        return function()
    except Exception as error:
        raise ForkFaultError(f"{what} raised {type(error).__name__}: {error}") from error
