"""``env=gymnasium``: the adapter between Gymnasium's calls and a text environment that search can fork.

A snapshot holds a frozen copy of the whole environment, generators included: pickled, which is quick, or deep-copied
where it cannot be pickled. The state hash is a digest of the episode's past: task, actions, what came back, and in a
random world the random numbers that were drawn. Equal pasts have equal futures, whatever the environment keeps inside.
"""

from __future__ import annotations

import copy
import hashlib
import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np

from tsrflow import streams
from tsrflow.components.envs.gymnasium.config import GymnasiumConfig
from tsrflow.components.envs.gymnasium.randomness import Generator, fingerprint, generators, restart
from tsrflow.components.envs.gymnasium.world import World
from tsrflow.components.envs.splits import task_in_split
from tsrflow.errors import ConfigError, RunError
from tsrflow.types import Split, Task

Playing = tuple[gymnasium.Env[Any, Any], list[Generator]]
_MAX_SEED = 2**31
"""Reset seeds lie below: environments that seed NumPy's older generators refuse larger ones."""


@dataclass(frozen=True, slots=True)
class Progress:
    """What the adapter itself knows of an episode."""

    observation: str = ""
    legal: tuple[str, ...] = ()
    used: int = 0
    total: float = 0.0
    """Return so far."""
    past: str = ""
    """Digest of everything that happened."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """An episode to come back to; ``frozen`` is pickled or a copy that is never played."""

    frozen: Any
    progress: Progress


class GymnasiumEnv:
    """One episode of ``config.id`` at a time."""

    def __init__(self, config: GymnasiumConfig, probing: bool = False) -> None:
        """``probing``: nothing is known yet about forks and randomness."""
        self.config = config
        self._world = World(config)
        self._numbers = {name: self._world.first + i for i, name in enumerate(self._world.names)}
        self._canonical = {name.lower(): name for name in self._world.names}
        self._random = probing or not config.deterministic
        self._forks = probing or config.fork_capability == "snapshot"
        self._playing: Playing = (self._world.env, [])
        self._now = Progress()
        self._scout: World | None = None
        threshold = config.success_at if config.success_at is not None else self._world.threshold
        self._enough = threshold if threshold is not None else float(np.nextafter(0.0, 1.0))

    def instructions(self, brief: bool) -> str:
        return self.config.instructions or self._world.rules(brief)

    def task(self, split: Split, index: int) -> Task:
        """Raises ConfigError where no reset seed leads to a start that belongs to ``split``."""
        if self.config.split_by == "seed":
            return task_in_split(self.config.id, split, index, lambda seed: str(_reset_seed(seed)))
        try:
            return task_in_split(self.config.id, split, index, self._start_of)
        except IndexError as error:
            if index < 0:
                raise
            raise ConfigError(
                f"env.split_by=start: {self.config.id} has too few different starts: none belongs to the {split} "
                "split; use env.split_by=seed"
            ) from error

    def reset(self, task: Task) -> tuple[str, dict[str, Any]]:
        env = self._world.env
        observation, info = env.reset(seed=_reset_seed(task.seed))
        self._playing = env, generators(env)
        self.seed_dynamics(task.seed)
        words = self._world.words(observation, env)
        self._now = Progress(words, self._allowed(info), past=_digest(f"{task.seed}", words))
        return words, {"success": False}

    def seed_dynamics(self, seed: int) -> None:
        restart(self._playing[1], streams.fold(seed, "dynamics"))

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        now, (env, found) = self._now, self._playing
        if action not in now.legal:
            return now.observation, 0.0, False, False, {"success": False, "invalid": True}
        before = fingerprint(found) if self._random else ""
        observation, gained, terminated, truncated, info = env.step(self._numbers[action])
        drawn = before if self._random and fingerprint(found) != before else ""
        reward, used = float(gained), now.used + 1
        total = now.total + reward
        success = self._solved(bool(terminated), reward, total, info)
        terminated = bool(terminated) or success
        truncated = not terminated and (bool(truncated) or used >= self.config.action_budget)
        words = self._world.words(observation, env)
        legal = () if terminated or truncated else self._allowed(info)
        past = _digest(now.past, action, words, repr(reward), f"{terminated} {truncated} {success}", drawn)
        self._now = Progress(words, legal, used, total, past)
        return words, reward, terminated, truncated, {"success": success}

    def parse_action(self, text: str) -> str | None:
        return self._canonical.get(text.strip().lower()) if len(text) < 256 else None

    def legal_actions(self) -> Sequence[str]:
        return self._now.legal

    def snapshot(self) -> Snapshot:
        """Raises RunError where episodes of this environment cannot be copied."""
        if not self._forks:
            raise RunError(f"env.fork={self.config.fork_capability}: episodes of {self.config.id} are not copied")
        return Snapshot(_freeze(self._playing), self._now)

    def restore(self, snapshot: Snapshot) -> None:
        self._playing, self._now = _thaw(snapshot.frozen), snapshot.progress
        self._world.env = self._playing[0]

    def state_hash(self) -> str:
        return self._now.past

    def potential(self) -> float | None:
        """None: Gymnasium has no notion of progress."""
        return None

    def render_ansi(self) -> str:
        return self._now.observation

    def _allowed(self, info: dict[str, Any]) -> tuple[str, ...]:
        """Actions that the mask leaves; all where it leaves none, because the episode goes on."""
        mask = info.get("action_mask") if self.config.action_mask else None
        if mask is None:
            return self._world.names
        pairs = zip(self._world.names, np.asarray(mask).ravel(), strict=True)
        return tuple(name for name, allowed in pairs if allowed) or self._world.names

    def _solved(self, terminated: bool, reward: float, total: float, info: dict[str, Any]) -> bool:
        kind = self.config.success
        if kind == "reach":
            return total >= self._enough
        if kind == "info":
            return terminated and bool(info.get("success", info.get("is_success", False)))
        value = {"return": total, "reward": reward, "terminated": self._enough}[kind]
        return terminated and value >= self._enough

    def _start_of(self, seed: int) -> str:
        """The first observation of a reset seed, in an environment of its own: asking must not disturb an episode."""
        self._scout = self._scout or World(self.config)
        observation, _ = self._scout.env.reset(seed=_reset_seed(seed))
        return self._scout.words(observation, self._scout.env)


def _reset_seed(seed: int) -> int:
    return seed % _MAX_SEED


def _digest(*parts: str) -> str:
    content = "\x00".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.blake2b(content.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _freeze(playing: Playing) -> Any:
    try:
        return pickle.dumps(playing, protocol=5)
    except Exception:  # what an environment holds may raise anything; a deep copy handles more
        return copy.deepcopy(playing)


def _thaw(frozen: Any) -> Playing:
    thawed: Playing = pickle.loads(frozen) if isinstance(frozen, bytes) else copy.deepcopy(frozen)
    return thawed
