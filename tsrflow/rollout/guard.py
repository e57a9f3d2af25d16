"""Runs environment code so that an error or a hang costs one job, not the run.

Jobs run one after the other in a worker thread that reports before every environment step. If a step takes longer than
the limit the thread is abandoned (Python cannot stop it), its job counts as failed, and the rest go on in a new thread.
Every thread has a resource of its own (the environments it plays in), so an abandoned one that wakes up touches nothing
that is still in use.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from tsrflow.errors import TsrflowError

R = TypeVar("R")
Beat = Callable[[], None]
Job = Callable[[R, Beat], Any]


@dataclass(frozen=True, slots=True)
class Failure:
    """A job that raised or exceeded the limit; ``reason`` is one line for people."""

    reason: str
    hung: bool = False


class _Abandoned(BaseException):
    """Ends a thread that nobody waits for any more at its next sign of life."""


@dataclass(slots=True)
class _Batch(Generic[R]):
    jobs: Sequence[Job[R]]
    results: list[Any] = field(default_factory=list)
    """Grows while the worker goes on: what is done so far survives an abandoned thread."""
    finished: threading.Event = field(default_factory=threading.Event)


@dataclass(slots=True)
class _Worker(Generic[R]):
    resource: R
    inbox: queue.SimpleQueue[_Batch[R] | None] = field(default_factory=queue.SimpleQueue)
    last_beat: float = 0.0
    abandoned: bool = False

    def beat(self) -> None:
        if self.abandoned:
            raise _Abandoned
        self.last_beat = time.monotonic()

    def loop(self) -> None:
        while (batch := self.inbox.get()) is not None:
            for job in batch.jobs:
                try:
                    self.beat()
                    batch.results.append(job(self.resource, self.beat))
                except _Abandoned:
                    return
                except TsrflowError as error:  # raised on purpose, by this package: not the environment's fault
                    batch.results.append(error)
                except BaseException as error:  # environments are third-party code, some call sys.exit
                    batch.results.append(Failure(" ".join(f"{type(error).__name__}: {error}".split())))
            batch.finished.set()


class Guard(Generic[R]):
    """``run(jobs)`` gives one result or ``Failure`` per job, in order. ``limit`` is in seconds per step.

    ``resource`` builds what a worker thread's jobs get as their first argument; it is called in the caller's thread.
    """

    def __init__(self, limit: float, resource: Callable[[], R]) -> None:
        self._limit = limit
        self._resource = resource
        self._worker: _Worker[R] | None = None

    def run(self, jobs: Sequence[Job[R]]) -> list[Any]:
        """Run ``jobs`` in order. A TsrflowError raised in one of them is raised here."""
        done: list[Any] = []
        while len(done) < len(jobs):
            worker, batch = self._start(), _Batch(jobs[len(done) :])
            worker.beat()
            worker.inbox.put(batch)
            try:
                in_time = self._wait(worker, batch)
            except BaseException:  # for example Ctrl-C: nobody will collect the results of this batch
                self._abandon(worker)
                raise
            if not in_time:
                self._abandon(worker)
            done.extend(list(batch.results))
            if not in_time and len(done) < len(jobs):
                done.append(Failure(f"step took longer than {self._limit:g} s", hung=True))
        for result in done:
            if isinstance(result, TsrflowError):
                raise result
        return done

    def close(self) -> None:
        """Let the worker thread end."""
        if self._worker is not None:
            self._worker.inbox.put(None)
            self._worker = None

    def _start(self) -> _Worker[R]:
        if self._worker is None:
            self._worker = _Worker(self._resource())
            threading.Thread(target=self._worker.loop, daemon=True, name="tsrflow-env").start()
        return self._worker

    def _abandon(self, worker: _Worker[R]) -> None:
        worker.abandoned = True
        worker.inbox.put(None)
        self._worker = None

    def _wait(self, worker: _Worker[R], batch: _Batch[R]) -> bool:
        while not batch.finished.wait(max(worker.last_beat + self._limit - time.monotonic(), 0.001)):
            if time.monotonic() - worker.last_beat > self._limit:
                return batch.finished.is_set()
        return True
