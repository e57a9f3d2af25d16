"""Gymnasium environments that only exist in tests: one property each that makes copying easy, hard or impossible."""

from __future__ import annotations

import enum
import random
import threading
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

LENGTH = 5


class Corridor(gymnasium.Env[Any, Any]):
    """Walk east from a start that the seed chooses; the observation is the place."""

    metadata = {"render_modes": []}  # noqa: RUF012 - Gymnasium's own convention

    def __init__(self, slip: float = 0.0) -> None:
        self.slip = slip
        self.observation_space: Any = spaces.Discrete(LENGTH)
        self.action_space: Any = spaces.Discrete(2)
        self.place = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.place = int(self.np_random.integers(LENGTH - 1))
        return self.seen(), {}

    def step(self, action: Any) -> Any:
        assert action in self.action_space
        self.place = min(
            max(self.place + (1 if action == self.action_space.start + 1 else -1) + self.luck(), 0), LENGTH - 1
        )
        over = self.place == LENGTH - 1
        return self.seen(), float(over), over, False, {"is_success": over}

    def seen(self) -> Any:
        return self.place

    def luck(self) -> int:
        return -1 if self.slip and self.np_random.random() < self.slip else 0


class Locked(Corridor):
    """Cannot be copied: it holds a lock."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()


class Scripted(Corridor):
    """Cannot be copied: its weather comes from a running Python generator."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        answer = super().reset(seed=seed)
        self.weather = (int(x) for x in np.random.default_rng(seed).integers(-1, 1, size=1000))
        return answer

    def luck(self) -> int:
        return next(self.weather)


class Global(Corridor):
    """Draws from a random generator of the whole process."""

    def luck(self) -> int:
        return random.choice([-1, 0, 0])


class GlobalSeeded(Global):
    """The same, but ``reset`` seeds it: the way can be played again, a copy does not hold it."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        random.seed(seed)
        return super().reset(seed=seed)


class Shared(Corridor):
    """Copies share their place: it lives in the class."""

    places = [0]  # noqa: RUF012 - the point

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        answer = super().reset(seed=seed)
        Shared.places[0] = self.place
        return answer

    def step(self, action: Any) -> Any:
        self.place = Shared.places[0]
        answer = super().step(action)
        Shared.places[0] = self.place
        return answer


class OwnStream(Corridor):
    """Keeps a generator of its own beside Gymnasium's, hidden in a list."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        answer = super().reset(seed=seed)
        self.streams = [{"wind": np.random.default_rng(seed)}]
        return answer

    def luck(self) -> int:
        return -int(self.streams[0]["wind"].random() < 0.5)


class Unpicklable(Corridor):
    """Can be deep-copied, not pickled."""

    def __init__(self) -> None:
        super().__init__()
        self.rule = lambda: 0

    def luck(self) -> int:
        return self.rule()


class Masked(Corridor):
    """Names its actions, counts them from 3, and rules some out."""

    class Moves(enum.IntEnum):
        west = 0
        east = 1

    def __init__(self, empty: bool = False) -> None:
        super().__init__()
        self.action_space = spaces.Discrete(2, start=3)
        self.actions = Masked.Moves
        self.empty = empty

    def mask(self) -> dict[str, Any]:
        return {"action_mask": np.array([not self.empty and self.place > 0, not self.empty], dtype=np.int8)}

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return super().reset(seed=seed)[0], self.mask()

    def step(self, action: Any) -> Any:
        *rest, info = super().step(action)
        return (*rest, info | self.mask())


class Raising(Corridor):
    """Breaks on the first step."""

    def luck(self) -> int:
        raise OSError("no such device")


class Seeing(Corridor):
    """The observation is of any space, always a sample of it that the place decides."""

    def __init__(self, space: Any) -> None:
        super().__init__()
        self.observation_space = space

    def seen(self) -> Any:
        self.observation_space.seed(self.place)
        return self.observation_space.sample()


KINDS = (Corridor, Locked, Scripted, Global, GlobalSeeded, Shared, OwnStream, Unpicklable, Masked, Raising, Seeing)
for kind in KINDS:
    name = f"tsrflow_test/{kind.__name__}-v0"
    if name not in gymnasium.registry:
        gymnasium.register(name, entry_point=kind, max_episode_steps=40)
