"""Fixed panels of held-out tasks: the same task ids whatever the group size or the number of workers."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from tsrflow.errors import ConfigError
from tsrflow.protocols import Env
from tsrflow.types import Split, Task


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
    lines = "".join(f"{task.id} {task.seed}\n" for task in tasks)
    return Panel(tuple(tasks), hashlib.blake2b(lines.encode(), digest_size=8).hexdigest())
