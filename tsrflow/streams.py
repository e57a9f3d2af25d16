"""Counter-based random streams: a 64-bit seed is folded with integers instead of being advanced.

A draw is a pure function of where it belongs (run seed, step, group, search, path in the tree), never of what was drawn
before it elsewhere. That is what makes rollouts independent of batch size and number of workers.
"""

from __future__ import annotations

import hashlib

import numpy as np

_MASK = (1 << 64) - 1


def _mix(x: int) -> int:
    """SplitMix64 finaliser (Steele, Lea & Flood 2014): a bijection of 64-bit integers with full avalanche."""
    x = (x + 0x9E3779B97F4A7C15) & _MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)


def fold(seed: int, *keys: int | str) -> int:
    """Derive a 64-bit seed from ``seed`` and ``keys``; different key sequences give unrelated seeds."""
    state = _mix(seed & _MASK)
    for key in keys:
        if isinstance(key, str):
            key = int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest(), "little")
        state = _mix(state ^ _mix(key & _MASK))
    return state


def generator(seed: int) -> np.random.Generator:
    """A NumPy generator that starts at ``seed``."""
    return np.random.Generator(np.random.PCG64(seed & _MASK))


def draw(state: int) -> tuple[int, float]:
    """Advance a light stream: (next state, uniform draw in [0, 1)). For environments, where a stream is an integer."""
    state = (state + 0x9E3779B97F4A7C15) & _MASK
    return state, (_mix(state) >> 11) * 2.0**-53
