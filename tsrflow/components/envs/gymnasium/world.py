"""The environment behind an id, made and looked over once: its actions, its observations, its threshold.

Everything that can be wrong with an id, its arguments or its spaces is one error here, before a run starts.
"""

from __future__ import annotations

import enum
import warnings
from typing import Any

import gymnasium
from gymnasium import spaces

from tsrflow.components.envs.gymnasium.config import GymnasiumConfig
from tsrflow.components.envs.gymnasium.text import describe, picture, say, unreadable
from tsrflow.config.fields import show
from tsrflow.errors import ConfigError, nearest

_MAX_NAME = 64


class World:
    """A Gymnasium environment of one config, ready to be played by numbers."""

    def __init__(self, config: GymnasiumConfig) -> None:
        """Raises ConfigError where the id is unknown, the arguments are refused, or it cannot be played as text."""
        self._id = config.id
        modes = self._modes(config)
        if config.observation == "ansi" and "ansi" not in modes:
            raise ConfigError(
                f"observation=ansi: {config.id} draws {', '.join(modes) or 'nothing'}, but no ansi; use space"
            )
        self.drawn = config.observation != "space" and "ansi" in modes
        """Whether the policy sees the environment's ``ansi`` picture."""
        self.env = _make(config, "ansi" if self.drawn else None)
        space = self.env.action_space
        if not isinstance(space, spaces.Discrete):
            raise ConfigError(f"id={config.id}: its action space is {space}; only Discrete ones can be named")
        reason = "" if self.drawn else unreadable(self.env.observation_space)
        if reason:
            raise ConfigError(f"id={config.id}: {reason}; wrap it in an environment with a shorter observation")
        self.first = int(space.start)
        """Number of the first action."""
        self.names = self._named(config.actions, int(space.n))
        """Canonical names of the actions, in order."""
        self.threshold = self.env.spec.reward_threshold if self.env.spec is not None else None
        self._digits = config.digits
        self._space = self.env.observation_space

    def words(self, observation: Any, env: gymnasium.Env[Any, Any]) -> str:
        """What the policy sees of ``env``, which just gave ``observation``."""
        return picture(env.render()) if self.drawn else say(observation, self._space, self._digits)

    def rules(self, brief: bool) -> str:
        """Instructions for an environment of which nothing else is known."""
        listed = f"Actions: {', '.join(self.names)}."
        if brief:
            return listed
        seen = "a picture in characters; red[X] is an X in red" if self.drawn else describe(self._space)
        return f"You act in {self._id}. An observation is {seen}. {listed}"

    def _modes(self, config: GymnasiumConfig) -> list[str]:
        """Render modes the class declares, without making an environment where the entry point is at hand."""
        spec = _spec(config.id)
        try:
            creator = gymnasium.envs.registration.load_env_creator(spec.entry_point) if spec.entry_point else None
        except Exception:  # whatever a foreign module raises; making the environment says it again
            creator = None
        metadata = getattr(creator, "metadata", None)
        if not isinstance(metadata, dict):
            metadata = _make(config, None).unwrapped.metadata
        return [str(mode) for mode in metadata.get("render_modes", [])]

    def _named(self, wanted: tuple[str, ...] | None, count: int) -> tuple[str, ...]:
        if wanted is None:
            return _told(self.env.unwrapped, count) or tuple(str(self.first + i) for i in range(count))
        if len(wanted) != count:
            raise ConfigError(f"actions={show(wanted)}: {len(wanted)} names, but {self._id} has {count} actions")
        if not _usable(wanted):
            raise ConfigError(
                f"actions={show(wanted)}: names must be different (in lower case too), one line of 1 to {_MAX_NAME} "
                "characters, and hold none of || < >"
            )
        return wanted


def _make(config: GymnasiumConfig, render_mode: str | None) -> gymnasium.Env[Any, Any]:
    _spec(config.id)
    arguments = dict(config.kwargs or {})
    if render_mode is not None:
        arguments["render_mode"] = render_mode
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Gymnasium's advice about versions is not for whoever reads the run
            return gymnasium.make(config.id, disable_env_checker=True, **arguments)
    except Exception as error:  # whatever a foreign constructor raises
        given = f" with kwargs={show(config.kwargs)}" if config.kwargs else ""
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ConfigError(f"id={config.id}: cannot be made{given}: {reason}") from error


def _spec(name: str) -> Any:
    """The registered spec; imports the module of ``module:Id`` first."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module, _, own = name.rpartition(":")
            if module:
                __import__(module)
            return gymnasium.spec(own)
    except ImportError as error:
        raise ConfigError(f"id={name}: {error}") from error
    except gymnasium.error.Error as error:
        reason = " ".join(str(error).split())
        if isinstance(error, gymnasium.error.DeprecatedEnv):
            raise ConfigError(f"id={name}: {reason}") from error
        hint = nearest(own, sorted(gymnasium.registry))
        raise ConfigError(f"id={name}: no such environment{hint or f': {reason}'}") from error


def _told(env: Any, count: int) -> tuple[str, ...] | None:
    """Names that the environment itself has: ``get_action_meanings()``, or an enumeration ``actions``."""
    meanings = getattr(env, "get_action_meanings", None)
    listed = getattr(env, "actions", None)
    names: tuple[str, ...] = ()
    if callable(meanings):
        names = tuple(str(name) for name in meanings())
    elif isinstance(listed, enum.EnumMeta):
        names = tuple(str(name) for name in listed.__members__)[:count]
    return names if len(names) == count and _usable(names) else None


def _usable(names: tuple[str, ...]) -> bool:
    whole = all(
        name == name.strip() and 0 < len(name) <= _MAX_NAME and name.isprintable() and not set(name) & set("<>|")
        for name in names
    )
    return whole and len({name.lower() for name in names}) == len(names)
