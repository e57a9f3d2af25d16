"""Runs the jobs of a sweep, each in a fresh process, one after the other unless ``parallel_jobs`` says more.

A fork server imports the heavy libraries once; every job is forked from it, so it starts quickly, shares no state with
the others, and gives its memory back when it ends. A job that fails or is killed does not stop the rest, unless
``on_error=stop``.
"""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from tsrflow.config.compose import Job

PRELOAD = "tsrflow.training.run"


@dataclass(frozen=True, slots=True)
class _Running:
    job: Job
    process: Any


def run_sweep(jobs: Sequence[Job]) -> None:
    """Run ``jobs`` to their ends; what became of them is in their run folders."""
    parallel, stop_on_error = jobs[0].config.parallel_jobs, jobs[0].config.on_error == "stop"
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([PRELOAD])
    running: list[_Running] = []
    failed = False
    try:
        for job in jobs:
            while len(running) >= parallel:
                failed = _reap(running) or failed
            if failed and stop_on_error:
                break
            process = context.Process(target=run_job, args=([*job.overrides, f"hydra.run.dir={job.folder}"],))
            process.start()
            running.append(_Running(job, process))
        while running:
            _reap(running)
    finally:
        for left in running:
            left.process.terminate()
            left.process.join()


def run_job(arguments: list[str]) -> None:
    """What a fresh process does: the single run that ``arguments`` describe."""
    from tsrflow.cli.main import main

    main(arguments)


def _reap(running: list[_Running]) -> bool:
    """Wait until at least one job has ended and take it out; True if one of them failed."""
    wait([each.process.sentinel for each in running])
    failed = False
    for each in [each for each in running if not each.process.is_alive()]:
        running.remove(each)
        each.process.join()
        code = each.process.exitcode
        if code:
            how = f"was killed by signal {-code}" if code < 0 else f"failed with exit code {code}"
            print(f"tsrflow: {each.job.folder or Path()}: {how}", file=sys.stderr, flush=True)
            failed = True
    return failed
