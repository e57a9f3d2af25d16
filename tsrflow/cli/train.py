"""Training from the command line: preflight, then Hydra runs the job or the sweep."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import hydra
from hydra.core.config_store import ConfigStore
from hydra.core.hydra_config import HydraConfig
from hydra.core.plugins import Plugins
from omegaconf import DictConfig

from tsrflow.cli.launcher import ProcessLauncher, ProcessLauncherConfig
from tsrflow.cli.sweep_table import print_table
from tsrflow.cli.usage import help_template
from tsrflow.config import compose
from tsrflow.errors import TsrflowError

_MULTIRUN = ("-m", "--multirun")


def train(arguments: Sequence[str], asks_hydra: bool = False) -> None:
    """Run what ``arguments`` say. Raises ConfigError before anything starts; SystemExit(1) if a job of a sweep failed."""
    prepare()
    sweep = any(argument in _MULTIRUN for argument in arguments)
    overrides = [argument for argument in arguments if not argument.startswith("-")]
    jobs = []
    if not asks_hydra:
        plain = not any(o.startswith("hydra/sweeper=") for o in overrides)
        jobs = compose.preflight(overrides if plain else _without_sweeps(overrides), sweep)
    sys.argv = [sys.argv[0], *arguments]
    _entry()
    if sweep and jobs and not print_table(_folders(overrides, jobs)):
        raise SystemExit(1)


def prepare() -> None:
    """Make components, launcher and help known to Hydra."""
    compose.register()
    Plugins.instance().register(ProcessLauncher)
    store = ConfigStore.instance()
    store.store(group="hydra/launcher", name="process", node=ProcessLauncherConfig, provider="tsrflow")
    store.store(group="hydra/help", name="tsrflow", node={"app_name": "tsrflow", "template": help_template()})


@hydra.main(version_base="1.3", config_path=f"pkg://{compose.PACKAGE}", config_name="config")
def _entry(config: DictConfig) -> float | None:
    """One job; its return value is what a hyperparameter sweeper maximises."""
    from tsrflow.training.run import run

    try:
        summary = run(compose.to_run_config(config), Path(HydraConfig.get().runtime.output_dir))
    except TsrflowError as error:
        print(f"tsrflow: {error}", file=sys.stderr)
        raise SystemExit(error.exit_code) from None
    return summary.get("eval/success")


def _without_sweeps(overrides: Sequence[str]) -> list[str]:
    """What another sweeper will vary is left to it; the rest can still be checked."""
    return [o for o in overrides if "," not in o and "(" not in o and not o.startswith("hydra")]


def _folders(overrides: Sequence[str], jobs: Sequence[compose.Job]) -> list[tuple[compose.Job, Path]]:
    base = next((o.split("=", 1)[1] for o in overrides if o.startswith("hydra.sweep.dir=")), "runs")
    return [(job, Path(base) / job.config.run_name()) for job in jobs]
