"""Disjoint splits for environments that draw their instances from a seed.

The hash of the *instance* (not of the seed) says which split it belongs to, so the same layout can never turn up in two
splits, however many tasks are drawn.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from tsrflow import streams
from tsrflow.types import Split, Task

_SHARES: dict[Split, range] = {"train": range(0, 14), "validation": range(14, 15), "test": range(15, 16)}
"""Of 16 equal parts of all instances."""


def split_of(key: str) -> Split:
    """The split that an instance with this ``key`` belongs to."""
    part = hashlib.blake2b(key.encode(), digest_size=1).digest()[0] % 16
    return next(split for split, parts in _SHARES.items() if part in parts)


def task_in_split(env: str, split: Split, index: int, key_of: Callable[[int], str]) -> Task:
    """Task ``index`` of ``split``: the first seed of its own sequence whose instance falls into the split."""
    if index < 0:
        raise IndexError(f"task index {index} is negative")
    for attempt in range(10_000):
        seed = streams.fold(0, env, split, index, attempt)
        if split_of(key_of(seed)) == split:
            return Task(env, split, index, seed)
    raise IndexError(f"no instance of {env} found for task {index} of the {split} split")
