"""Finds out how episodes of an environment can be copied and whether its steps are random, by playing it.

Walks of random legal actions are played on a few tasks and judged by the rules that ``check_env`` judges by
(``tsrflow.components.envs.futures``):

- *replay*: the same task and actions give the same future again, in this environment and in a new one, after other
  things have happened;
- *snapshot*: the same, and a copy taken in the middle lives on as the original did; nothing was drawn from the random
  generators of the process, which no copy holds;
- *random*: some restart of the dynamics stream changes what is seen.

This is evidence, not proof: a deviation that shows once in a thousand steps is missed here. ``replay`` compares hashes
of the past on every replay in a run as well.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from tsrflow import streams
from tsrflow.components.envs.futures import ForkFaultError, Moment, Player, Walk, differ, forked_futures
from tsrflow.components.envs.gymnasium.config import GymnasiumConfig
from tsrflow.components.envs.gymnasium.env import GymnasiumEnv
from tsrflow.components.envs.gymnasium.randomness import common_fingerprint
from tsrflow.config.base import ForkCapability
from tsrflow.errors import ConfigError
from tsrflow.types import Task

TASKS, STEPS = 4, 16


@dataclass(frozen=True, slots=True)
class Facts:
    """What was found. ``faults`` says for each capability that was refuted how."""

    id: str
    capability: ForkCapability
    deterministic: bool
    faults: Mapping[str, str]

    def demand(self, capability: str) -> None:
        """Raise ConfigError where ``capability`` was refuted; ``auto`` and ``none`` never are."""
        if capability in self.faults:
            raise ConfigError(
                f"fork={capability}: {self.id} does not allow it: {self.faults[capability]}; "
                f"fork={self.capability} is what it does allow"
            )


def facts(config: GymnasiumConfig) -> Facts:
    """What is known about ``config.id`` with ``config.kwargs``; found out once per process."""
    try:
        arguments = json.dumps(config.kwargs, sort_keys=True)
    except TypeError:
        return _find(config.id, config.kwargs, config.observation)
    return _remembered(config.id, arguments, config.observation)


@lru_cache(maxsize=256)
def _remembered(id: str, arguments: str, observation: str) -> Facts:
    return _find(id, json.loads(arguments), observation)


def _find(id: str, kwargs: dict[str, Any] | None, observation: Any) -> Facts:
    config = GymnasiumConfig.model_construct(id=id, kwargs=kwargs, observation=observation, max_actions=10 * STEPS)
    try:
        env, other = (GymnasiumEnv(config, probing=True) for _ in range(2))
        tasks = [env.task("train", index) for index in range(TASKS)]
        common = common_fingerprint()
        walks = [(task, _walk(env, task)) for task in tasks]
        foreign = common_fingerprint() != common
    except ConfigError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split())
        raise ConfigError(f"id={id}: cannot be played: {type(error).__name__}: {reason}") from error
    faults, deterministic = dict[str, str](), False
    for capability in ("replay", "snapshot"):
        try:
            for who in (other, env):
                _same_again(who, walks)
            if capability == "snapshot" and foreign:
                raise ForkFaultError("it draws from the random generators of the process, which a copy does not hold")
            deterministic = _forked(env, walks, capability)
        except Exception as error:  # a copy of a foreign object may fail in any way
            fault = isinstance(error, ForkFaultError)
            faults[capability] = str(error) if fault else f"{type(error).__name__}: {error}"
    found: ForkCapability = "replay" if "snapshot" in faults else "snapshot"
    return Facts(id, "none" if "replay" in faults else found, deterministic, faults)


def _same_again(env: GymnasiumEnv, walks: list[tuple[Task, Walk]]) -> None:
    for task, walk in walks:
        difference = differ(walk.moments, _PLAYER.play(env, task, walk.actions))
        if difference:
            raise ForkFaultError(f"the same seed and actions had another outcome: {difference}")


def _forked(env: GymnasiumEnv, walks: list[tuple[Task, Walk]], capability: Any) -> bool:
    """Try to copy the middle of every walk; True where no dynamics seed changed what is seen."""
    same = True
    for task, walk in walks:
        futures = forked_futures(env, task, walk, walks[-1][0], capability, _PLAYER)
        same = same and len({tuple(replace(m, state_hash="") for m in future) for future in futures}) == 1
    return same


def _walk(env: GymnasiumEnv, task: Task) -> Walk:
    moments, actions, stream = [_start(env, task)], list[str](), streams.fold(0, "probe", task.index)
    while moments[-1].legal and len(actions) < STEPS:
        stream, uniform = streams.draw(stream)
        actions.append(moments[-1].legal[int(uniform * len(moments[-1].legal))])
        moments.append(_step(env, actions[-1]))
    return Walk(tuple(actions), tuple(moments))


def _start(env: Any, task: Task) -> Moment:
    observation, _ = env.reset(task)
    return Moment(observation, 0.0, False, False, False, False, env.state_hash(), None, tuple(env.legal_actions()))


def _step(env: Any, action: str) -> Moment:
    observation, reward, terminated, truncated, info = env.step(action)
    success, invalid = info["success"], info.get("invalid", False)
    legal = tuple(env.legal_actions())
    return Moment(observation, reward, terminated, truncated, success, invalid, env.state_hash(), None, legal)


_PLAYER = Player(_start, _step)
