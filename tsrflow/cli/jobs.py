"""Runs the jobs of a sweep, each in a fresh process, one after the other unless ``n_jobs`` says more.

A fork server imports the heavy libraries once; every job is forked from it, so it starts quickly, shares no state with
the others, and gives its memory back when it ends. A job that fails or is killed does not stop the rest, unless its
config says ``on_error=stop``. Knows nothing of Hydra: a job is a config and a run folder.
"""

from __future__ import annotations

import importlib
import json
import logging.config
import multiprocessing
import os
import signal
import sys
import traceback
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Literal

from tsrflow.config.schema import RunConfig
from tsrflow.errors import TsrflowError

TRAIN = "tsrflow.training.run:run"
PRELOAD = ("torch", "transformers", "lightning", "tsrflow.training.run")
_PATIENCE = 10.0
"""Seconds an interrupted job has to tidy up."""


@dataclass(frozen=True, slots=True)
class JobSpec:
    """A job: its config, its run folder, and what its process is to be given."""

    config: RunConfig
    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    logging: Mapping[str, Any] | None = None
    """A config for ``logging.config.dictConfig``."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a job."""

    folder: Path
    status: Literal["finished", "finished before", "failed", "killed", "not run"]
    summary: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""

    @property
    def ok(self) -> bool:
        return self.status.startswith("finished")


def run_jobs(
    specs: Sequence[JobSpec],
    n_jobs: int = 1,
    target: str = TRAIN,
    preload: Sequence[str] = PRELOAD,
    prepare: Callable[[int], None] | None = None,
) -> list[Outcome]:
    """Run all jobs, at most ``n_jobs`` at a time, and return their outcomes in order.

    ``target`` (``"module:function"``) is called as ``function(config, folder)`` and returns the summary. A job whose
    folder holds a finished run of the same config is not run again. ``prepare`` is called with a job's number before it
    starts; where it raises OSError the job has failed. On Ctrl-C, SIGTERM or any other exception here the running jobs
    are interrupted first. For the main thread only.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(preload))
    outcomes: dict[int, Outcome] = {}
    waiting = deque(enumerate(specs))
    running: list[_Running] = []
    stop = False
    before_term = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        while running or (waiting and not stop):
            while waiting and len(running) < n_jobs and not stop:
                index, spec = waiting.popleft()
                before = finished_before(spec.config, spec.folder)
                print(f"[{index + 1}/{len(specs)}] {spec.folder}{': finished before' if before else ''}", flush=True)
                if before is not None:
                    outcomes[index] = before
                    continue
                try:
                    if prepare is not None:
                        prepare(index)
                    running.append(_Running(context, index, spec, target, alone=n_jobs == 1))
                except OSError as error:
                    reason = f"cannot write {error.filename or spec.folder}: {error.strerror or error}"
                    outcomes[index] = Outcome(spec.folder, "failed", error=reason)
                    stop = _report(outcomes[index], spec) or stop
            for job in _ended(running):
                outcomes[job.index] = job.outcome()
                running.remove(job)
                stop = _report(outcomes[job.index], job.spec) or stop
    finally:
        signal.signal(signal.SIGTERM, before_term)
        for job in running:
            job.interrupt()
    return [outcomes.get(i, Outcome(spec.folder, "not run")) for i, spec in enumerate(specs)]


def _report(outcome: Outcome, spec: JobSpec) -> bool:
    """Say what went wrong; whether the sweep is to stop."""
    if outcome.ok:
        return False
    print(f"tsrflow: {outcome.folder}: {outcome.error}", file=sys.stderr, flush=True)
    return spec.config.on_error == "stop"


def finished_before(config: RunConfig, folder: Path) -> Outcome | None:
    """The outcome of an earlier run of ``config`` in ``folder`` that need not be repeated."""
    done = folder / "DONE"
    if config.resume != "auto" or not done.is_file():
        return None
    if done.read_text(encoding="utf-8").strip() != config.config_hash():
        return None
    return Outcome(folder, "finished before", _read(folder / "summary.json"))


def outcome_of(config: RunConfig, folder: Path) -> Outcome:
    """What a run folder says about a job that some other launcher ran."""
    summary = _read(folder / "summary.json")
    if summary.get("config_hash") != config.config_hash():
        return Outcome(folder, "failed", error="no summary was written")
    if summary.get("status") == "finished":
        return Outcome(folder, "finished", summary)
    return Outcome(folder, "failed", summary, str(summary.get("error", "")))


def _read(file: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return content


class _Running:
    """A job's process and the pipe on which it reports."""

    def __init__(self, context: Any, index: int, spec: JobSpec, target: str, alone: bool) -> None:
        self.index = index
        self.spec = spec
        self.pipe, theirs = context.Pipe(duplex=False)
        environment = dict(spec.environment) if alone else {**spec.environment, "TTY_COMPATIBLE": "0"}
        self.process = context.Process(target=_child, args=(spec, target, environment, theirs), name=spec.folder.name)
        self.process.start()
        theirs.close()

    def outcome(self) -> Outcome:
        """Wait for the process to end; its report, or how it ended without one."""
        try:
            report = self.pipe.recv()
        except EOFError:
            report = None
        self.process.join()
        self.pipe.close()
        code = self.process.exitcode
        if code < 0:
            name = signal.Signals(-code).name if -code in set(signal.Signals) else "unknown"
            return Outcome(self.spec.folder, "killed", error=f"killed by signal {-code} ({name})")
        if report is None:
            return Outcome(self.spec.folder, "failed", error=f"ended with exit code {code} and no result")
        status, summary, error = report
        return Outcome(self.spec.folder, status, summary, error)

    def interrupt(self) -> None:
        """End the process as Ctrl-C would, so that it can end its own helpers; by force if it does not."""
        if self.process.is_alive():
            os.kill(self.process.pid, signal.SIGINT)
            self.process.join(_PATIENCE)
            self.process.kill()
        self.process.join()


def _ended(running: Sequence[_Running]) -> list[_Running]:
    """Wait until a job has reported or ended; all of those that have."""
    if not running:
        return []
    ready = set(wait([source for job in running for source in (job.pipe, job.process.sentinel)]))
    return [job for job in running if job.pipe in ready or job.process.sentinel in ready]


def _child(spec: JobSpec, target: str, environment: Mapping[str, str], pipe: Connection) -> None:
    """What a job's process does."""
    os.environ.update(environment)
    if spec.logging is not None:
        logging.config.dictConfig(dict(spec.logging))
    module, _, function = target.partition(":")
    try:
        summary = getattr(importlib.import_module(module), function)(spec.config, spec.folder)
        pipe.send(("finished", dict(summary), ""))
        return
    except TsrflowError as error:
        code = error.exit_code
        pipe.send(("failed", {}, str(error)))
    except KeyboardInterrupt:
        code = 130
    except Exception as error:  # a bug or a broken component: show where, go on with the other jobs
        code = 1
        traceback.print_exc()
        pipe.send(("failed", {}, f"{type(error).__name__}: {error}"))
    sys.exit(code)
