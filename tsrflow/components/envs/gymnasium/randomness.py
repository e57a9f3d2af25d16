"""The random generators that an environment holds: found, restarted, fingerprinted.

They are looked for in the attributes of the environment and its wrappers and in the containers found there, so a
generator that an environment keeps beside Gymnasium's own is restarted too. One inside a running Python generator or a
C extension cannot be reached: what it draws counts as part of the task.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import Any

import gymnasium
import numpy as np

from tsrflow import streams

Generator = np.random.Generator | np.random.RandomState | random.Random
_SEARCHED = 256
"""Items of a container that are looked at; a longer one is data."""
_DEPTH = 8


def generators(env: gymnasium.Env[Any, Any]) -> list[Generator]:
    """Every generator that ``env`` holds, Gymnasium's own first."""
    found: dict[int, Generator] = {id(env.unwrapped.np_random): env.unwrapped.np_random}
    seen: set[int] = set()

    def visit(value: Any, depth: int) -> None:
        if isinstance(value, Generator):
            found.setdefault(id(value), value)
        elif depth and id(value) not in seen:
            seen.add(id(value))
            for part in _parts(value):
                visit(part, depth - 1)

    visit(env, _DEPTH)
    return list(found.values())


def restart(found: Iterable[Generator], seed: int) -> None:
    """Restart each generator in place at a stream of its own."""
    for number, generator in enumerate(found):
        own = streams.fold(seed, "gymnasium", number)
        if isinstance(generator, np.random.Generator):
            generator.bit_generator.state = type(generator.bit_generator)(own).state
        else:
            generator.seed(own % 2**32)


def fingerprint(found: Iterable[Generator]) -> str:
    """Text that changes when one of them draws."""
    return repr([_state(generator) for generator in found])


def common_fingerprint() -> str:
    """The same for the generators of the whole process, which no environment should draw from."""
    return repr((random.getstate(), _legacy(np.random.get_state(legacy=False))))


def _state(generator: Generator) -> Any:
    if isinstance(generator, np.random.Generator):
        return _legacy(generator.bit_generator.state)
    return generator.getstate() if isinstance(generator, random.Random) else _legacy(generator.get_state(legacy=False))


def _legacy(state: Any) -> Any:
    """Arrays in a generator's state as lists: NumPy shortens their text."""
    if isinstance(state, dict):
        return {key: _legacy(value) for key, value in state.items()}
    return state.tolist() if isinstance(state, np.ndarray) else state


def _parts(value: Any) -> Iterator[Any]:
    if isinstance(value, gymnasium.spaces.Space | str | bytes | type) or callable(value):
        return  # a space's own generator only serves sampling from it
    if isinstance(value, dict) and len(value) <= _SEARCHED:
        yield from value.values()
    elif isinstance(value, list | tuple | set | frozenset) and len(value) <= _SEARCHED:
        yield from value
    else:
        yield from getattr(value, "__dict__", {}).values()
        for kind in type(value).__mro__:
            slots = getattr(kind, "__slots__", ())
            for name in (slots,) if isinstance(slots, str) else slots:
                if hasattr(value, name):
                    yield getattr(value, name)
