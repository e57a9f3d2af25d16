"""One step of rollouts: open the searches of every task slot, grow them together, return groups, metrics and cost.

The training task of slot ``p`` at step ``s`` is number ``s * rollout.tasks + p`` of the train split, and every search's
stream is derived from (seed, step, slot, index): any split of the slots over workers gives the same groups.
"""

from __future__ import annotations

from collections.abc import Sequence

from tsrflow import streams
from tsrflow.errors import RunError
from tsrflow.protocols import Env, SearchStrategy
from tsrflow.rollout.engine import RolloutEngine, Search
from tsrflow.rollout.groups import build_group, members
from tsrflow.rollout.metrics import tally
from tsrflow.types import RolloutBatch, Task


class Collector:
    """Produces the groups of a step for any subset of its task slots."""

    def __init__(
        self,
        engine: RolloutEngine,
        env: Env,
        strategy: SearchStrategy,
        naive: SearchStrategy,
        *,
        tasks: int,
        group_size: int,
        keep: int,
        mix: float,
        seed: int,
    ) -> None:
        self._engine = engine
        self._env = env
        self._tasks = tasks
        self._seed = seed
        self._naive = naive
        self._members = members(strategy, naive, group_size, keep, mix)

    def training_task(self, step: int, slot: int) -> Task:
        """The task that slot ``slot`` works on at ``step``."""
        return self._env.task("train", step * self._tasks + slot)

    def collect(self, step: int, slots: Sequence[int]) -> RolloutBatch:
        """Roll out the groups of ``slots`` at ``step``. Raises RunError where every trajectory was lost."""
        before = self._engine.ledger.total
        with self._engine.ledger.seconds("rollout_seconds"):
            by_slot: list[tuple[Task, list[Search]]] = []
            for slot in slots:
                task = self.training_task(step, slot)
                stream = streams.fold(self._seed, "rollout", step, slot)
                opened = [
                    self._engine.open(task, slot, i, m.strategy, m.keep, m.searched, streams.fold(stream, i))
                    for i, m in enumerate(self._members)
                ]
                by_slot.append((task, opened))
            searches = [search for _, opened in by_slot for search in opened]
            self._engine.run(searches)
        built = [build_group(task, opened) for task, opened in by_slot]
        groups = tuple(group for group, _ in built)
        dropped = sum(count for _, count in built)
        if searches and not any(group.trajectories for group in groups):
            reason = next((e for s in searches for e in s.errors), "no trajectory was kept")
            raise RunError(f"step {step}: every trajectory was lost to environment errors; the first one: {reason}")
        return RolloutBatch(step, groups, self._engine.ledger.total - before, tally(groups, searches, dropped))

    def evaluate(self, tasks: Sequence[Task], temperature: float) -> list[Search]:
        """Play ``tasks`` without search at ``temperature`` (0 is greedy); streams depend on the task alone."""
        opened = [
            self._engine.open(
                task, i, 0, self._naive, 1, False, streams.fold(self._seed, "evaluation", task.split, task.index)
            )
            for i, task in enumerate(tasks)
        ]
        self._engine.run(opened, temperature)
        return opened
