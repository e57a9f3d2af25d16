"""Fixed panels of held-out tasks: the same task ids whatever the group size or the number of workers.

Environments keep their splits disjoint; the hashes written here let two runs prove that they drew from the same ones.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from tsrflow.errors import ConfigError
from tsrflow.protocols import Env
from tsrflow.types import Split, Task

SPLITS: tuple[Split, ...] = ("train", "validation", "test")


@dataclass(frozen=True, slots=True)
class Panel:
    """Tasks number 0 … n-1 of a split, and the hash that names them in ``summary.json``."""

    tasks: tuple[Task, ...]
    digest: str


def build_panel(env: Env, split: Split, size: int) -> Panel:
    """The first ``size`` tasks of ``split``. Raises ConfigError where the split is smaller."""
    tasks = []
    for index in range(size):
        try:
            tasks.append(env.task(split, index))
        except IndexError as error:
            raise ConfigError(f"eval.tasks={size}: the {split} split has only {index} tasks") from error
    return Panel(tuple(tasks), _digest(tasks))


def split_digests(env: Env, size: int) -> dict[str, str]:
    """A hash of the first ``size`` tasks of every split, or of all where a split has fewer."""
    return {split: _digest(_first(env, split, size)) for split in SPLITS}


def _first(env: Env, split: Split, size: int) -> Iterable[Task]:
    for index in range(size):
        try:
            yield env.task(split, index)
        except IndexError:
            return


def _digest(tasks: Iterable[Task]) -> str:
    lines = "".join(f"{task.id} {task.seed}\n" for task in tasks)
    return hashlib.blake2b(lines.encode(), digest_size=8).hexdigest()
