"""Runs environment code so that an error or a hang costs one job, not the run.

Jobs run one after the other in a worker thread that reports before every environment step. If a step takes longer than
the limit the thread is abandoned (Python cannot stop it), its job counts as failed, and the rest go on in a new thread.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Failure:
    """A job that raised or exceeded the limit; ``reason`` is one line for people."""

    reason: str
    hung: bool = False


class _Abandoned(BaseException):
    """Ends a thread that nobody waits for any more at its next sign of life."""


@dataclass(slots=True)
class _Worker:
    inbox: queue.SimpleQueue[Any] = field(default_factory=queue.SimpleQueue)
    outbox: queue.SimpleQueue[Any] = field(default_factory=queue.SimpleQueue)
    last_beat: float = 0.0
    abandoned: bool = False

    def beat(self) -> None:
        if self.abandoned:
            raise _Abandoned
        self.last_beat = time.monotonic()

    def loop(self) -> None:
        while (jobs := self.inbox.get()) is not None:
            results: list[Any] = []
            self.outbox.put(results)  # shared list: what is done so far survives an abandoned thread
            for job in jobs:
                try:
                    self.beat()
                    results.append(job(self.beat))
                except _Abandoned:
                    return
                except Exception as error:  # environments are third-party code
                    results.append(Failure(f"{type(error).__name__}: {error}"))
            self.outbox.put(None)


class Guard:
    """``run(jobs)`` gives one result or ``Failure`` per job, in order. ``limit`` is in seconds per step."""

    def __init__(self, limit: float, on_hang: Callable[[], None]) -> None:
        self._limit = limit
        self._on_hang = on_hang
        self._worker: _Worker | None = None

    def run(self, jobs: Sequence[Callable[[Callable[[], None]], Any]]) -> list[Any]:
        done: list[Any] = []
        while len(done) < len(jobs):
            worker = self._start()
            worker.beat()
            worker.inbox.put(list(jobs[len(done) :]))
            results: list[Any] = worker.outbox.get()
            if self._finished(worker):
                done.extend(results)
            else:
                self._worker = None
                worker.abandoned = True
                done.extend(list(results))
                if len(done) < len(jobs):
                    done.append(Failure(f"step took longer than {self._limit:g} s", hung=True))
                self._on_hang()
        return done

    def close(self) -> None:
        """Let the worker thread end."""
        if self._worker is not None:
            self._worker.inbox.put(None)
            self._worker = None

    def _start(self) -> _Worker:
        if self._worker is None:
            self._worker = _Worker()
            threading.Thread(target=self._worker.loop, daemon=True, name="tsrflow-env").start()
        return self._worker

    def _finished(self, worker: _Worker) -> bool:
        while True:
            wait = worker.last_beat + self._limit - time.monotonic()
            try:
                worker.outbox.get(timeout=max(wait, 0.001))
                return True
            except queue.Empty:
                if time.monotonic() - worker.last_beat > self._limit:
                    return False
