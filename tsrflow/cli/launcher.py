"""``hydra/launcher=process``: every job of a sweep in a fresh process, one after the other unless ``n_jobs`` says more.

A fork server imports the heavy libraries once; each job is forked from it, so it starts quickly, shares no state with
the others, and gives its memory back when it ends. A job that fails or is killed does not stop the rest.
"""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydra.core.utils import JobReturn, JobStatus, configure_log, setup_globals
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf, open_dict

PRELOAD = "tsrflow.training.run"


@dataclass
class ProcessLauncherConfig:
    """Settings of the launcher as Hydra sees them."""

    _target_: str = "tsrflow.cli.launcher.ProcessLauncher"
    n_jobs: int = 1


@dataclass(slots=True)
class _Running:
    index: int
    process: Any
    folder: Path


class ProcessLauncher(Launcher):
    """Runs each job as the single run it is, with its run folder given."""

    def __init__(self, n_jobs: int = 1) -> None:
        self.n_jobs = max(1, n_jobs)
        self.config: DictConfig | None = None
        self.hydra_context: HydraContext | None = None

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        self.config = config
        self.hydra_context = hydra_context

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> list[JobReturn]:
        """Run the jobs; the result of a job that did not end well has status FAILED."""
        assert self.config is not None and self.hydra_context is not None
        setup_globals()
        configure_log(self.config.hydra.hydra_logging, self.config.hydra.verbose)
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([PRELOAD])
        results = [JobReturn(overrides=list(o), status=JobStatus.UNKNOWN) for o in job_overrides]
        running: list[_Running] = []
        stop = False
        try:
            for index, overrides in enumerate(job_overrides):
                while len(running) >= self.n_jobs:
                    stop = self._reap(running, results) or stop
                if stop:
                    break
                folder = self._folder(overrides, initial_job_idx + index)
                arguments = [*overrides, f"hydra.run.dir={folder}"]
                process = context.Process(target=run_job, args=(arguments,), name=f"job {initial_job_idx + index}")
                process.start()
                running.append(_Running(index, process, folder))
            while running:
                self._reap(running, results)
        finally:
            for job in running:
                job.process.terminate()
                job.process.join()
        return results

    def _folder(self, overrides: Sequence[str], number: int) -> Path:
        assert self.config is not None and self.hydra_context is not None
        sweep = self.hydra_context.config_loader.load_sweep_config(self.config, list(overrides))
        with open_dict(sweep):
            sweep.hydra.job.id = sweep.hydra.job.num = number
        return Path(str(OmegaConf.select(sweep, "hydra.sweep.dir"))) / str(OmegaConf.select(sweep, "hydra.sweep.subdir"))

    def _reap(self, running: list[_Running], results: list[JobReturn]) -> bool:
        """Collect jobs that have ended (at least one); True if one failed and the sweep is to stop."""
        while not (ended := [job for job in running if not job.process.is_alive()]):
            time.sleep(0.05)
        stop = False
        for job in ended:
            running.remove(job)
            job.process.join()
            code = job.process.exitcode
            result = results[job.index]
            result.working_dir = str(job.folder)
            result.status = JobStatus.COMPLETED if code == 0 else JobStatus.FAILED
            result.return_value = None if code == 0 else RuntimeError(f"job ended with exit code {code}")
            if code != 0:
                how = f"was killed by signal {-code}" if code < 0 else f"failed with exit code {code}"
                print(f"tsrflow: {job.folder.name} {how}", file=sys.stderr)
                stop = stop or any(o == "on_error=stop" for o in result.overrides or ())
        return stop


def run_job(arguments: list[str]) -> None:
    """What a fresh process does: the single run that ``arguments`` describe."""
    from tsrflow.cli.main import main

    main(arguments)
