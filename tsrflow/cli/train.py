"""Training from the command line: preflight, then one run in this process or a sweep of fresh ones.

A sweep with a launcher or sweeper of Hydra's own (``hydra/launcher=joblib``, ``hydra/sweeper=optuna``) is left to Hydra.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import hydra
from hydra.core.config_store import ConfigStore
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from tsrflow.cli.sweep import run_sweep
from tsrflow.cli.sweep_table import print_table
from tsrflow.cli.usage import help_template
from tsrflow.config import compose
from tsrflow.errors import TsrflowError

_MULTIRUN = ("-m", "--multirun")


def train(arguments: Sequence[str], asks_hydra: bool = False) -> None:
    """Run what ``arguments`` say. Raises ConfigError before anything starts; SystemExit(1) if a job of a sweep failed."""
    prepare()
    overrides = [argument for argument in arguments if not argument.startswith("-")]
    sweep = any(argument in _MULTIRUN for argument in arguments)
    foreign = any(o.startswith(("hydra/launcher=", "hydra/sweeper=")) for o in overrides)
    if not asks_hydra:
        searched = any(o.startswith("hydra/sweeper=") for o in overrides)
        jobs = compose.preflight(_fixed(overrides) if searched else overrides, sweep)
        if sweep and not foreign:
            run_sweep(jobs)
            if not print_table(jobs):
                raise SystemExit(1)
            return
    sys.argv = [sys.argv[0], *arguments]
    _entry()


def prepare() -> None:
    """Make components and our help text known to Hydra."""
    compose.register()
    node = {"app_name": "tsrflow", "template": help_template()}
    ConfigStore.instance().store(group="hydra/help", name="tsrflow", node=node)


@hydra.main(version_base="1.3", config_path=f"pkg://{compose.PACKAGE}", config_name="config")
def _entry(config: DictConfig) -> float | None:
    """One job; its return value is what a hyperparameter sweeper optimises."""
    from tsrflow.training.run import run

    try:
        summary = run(compose.to_run_config(config), Path(HydraConfig.get().runtime.output_dir))
    except TsrflowError as error:
        print(f"tsrflow: {error}", file=sys.stderr)
        raise SystemExit(error.exit_code) from None
    success: float | None = summary.get("eval/success")
    return success


def _fixed(overrides: Sequence[str]) -> list[str]:
    """What another sweeper will vary is left to it; the rest can still be checked."""
    return [o for o in overrides if "," not in o and "(" not in o and not o.startswith("hydra")]
