"""``tsrflow [-m] key=value …``: preflight, then Hydra runs one job in this process, or a sweep starts fresh ones.

Sweeps with another launcher or sweeper (``hydra/launcher=joblib``, ``hydra/sweeper=optuna``) are left to Hydra.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import hydra
from hydra._internal.utils import get_args_parser
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import DictConfig

from tsrflow.cli.jobs import outcome_of
from tsrflow.cli.preflight import Job, check_composition, preflight
from tsrflow.cli.sweep import run_sweep
from tsrflow.cli.table import print_table
from tsrflow.cli.usage import help_text
from tsrflow.config import compose
from tsrflow.errors import ConfigError, RunError, TsrflowError


def train(arguments: Sequence[str]) -> None:
    """Do what ``arguments`` say.

    Raises ConfigError before anything starts, and SystemExit(1) if a job of a sweep failed.
    """
    options = get_args_parser().parse_args(list(arguments))
    if options.config_name is not None or options.config_path is not None:
        raise ConfigError("--config-name, --config-path: not supported; use --config-dir=FOLDER with experiment=NAME")
    compose.register()
    overrides = list(options.overrides)
    if options.config_dir is not None:
        if not Path(options.config_dir).is_dir():
            raise ConfigError(f"--config-dir={options.config_dir}: no such folder")
        overrides.append(f"hydra.searchpath=['file://{Path(options.config_dir).absolute()}']")
    if options.help:
        print(help_text(overrides))
        return
    sweep = options.multirun or "hydra.mode=MULTIRUN" in overrides
    jobs: list[Job] = []
    if options.cfg or options.info:
        check_composition(overrides)
    elif not (options.shell_completion or options.hydra_help):
        jobs = preflight(overrides, sweep)
        _check_writable(jobs)
    if sweep and jobs and jobs[0].launcher == "process":
        outcomes = run_sweep(jobs)
    else:
        _hand_over(arguments)
        outcomes = [outcome_of(job.config, job.folder) for job in jobs] if sweep else []
    if outcomes:
        print_table(outcomes)
        if not all(outcome.ok for outcome in outcomes):
            raise SystemExit(1)


def job(config: DictConfig) -> float:
    """Hydra's task function: train; the value is the held-out success, for sweepers that search for the best.

    In a sweep an error ends this job only and its value is NaN.
    """
    from tsrflow.training.run import run

    hydra_config = HydraConfig.get()
    folder = Path(str(hydra_config.runtime.output_dir))
    run_config = compose.to_run_config(config)
    try:
        summary = run(run_config, folder)
    except TsrflowError as error:
        print(f"tsrflow: {folder.name}: {error}", file=sys.stderr)
        if hydra_config.mode == RunMode.RUN:
            raise SystemExit(error.exit_code) from None
    except Exception:
        if hydra_config.mode == RunMode.RUN:
            raise
        traceback.print_exc()
    else:
        return float(summary.get("eval/success", float("nan")))
    return float("nan")


def _hand_over(arguments: Sequence[str]) -> None:
    with _own_errors(), _argv(arguments):
        try:
            start = hydra.main(compose.config_path(), compose.ROOT, version_base=compose.VERSION_BASE)(job)
            start()
        except HydraException as error:
            raise ConfigError(" ".join(str(error).split())) from error
        except OSError as error:
            raise RunError(f"{error.filename or 'run folder'}: {error.strerror or error}") from error


def _check_writable(jobs: Sequence[Job]) -> None:
    """Raise ConfigError where the first run folder cannot be made or written to."""
    for folder in [job.folder for job in jobs[:1]]:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            probe = folder / f".probe-{os.getpid()}"
            probe.write_text("x", encoding="utf-8")
            probe.unlink()
        except OSError as error:
            raise ConfigError(f"run folder {folder}: cannot be written: {error.strerror or error}") from error


@contextmanager
def _own_errors() -> Iterator[None]:
    """Let exceptions through Hydra: it would print its own digest of them and exit with 1."""
    with _set("HYDRA_FULL_ERROR", "1"):
        yield


@contextmanager
def _argv(arguments: Sequence[str]) -> Iterator[None]:
    before, sys.argv = sys.argv, [sys.argv[0], *arguments]
    try:
        yield
    finally:
        sys.argv = before


@contextmanager
def _set(name: str, value: Any) -> Iterator[None]:
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
