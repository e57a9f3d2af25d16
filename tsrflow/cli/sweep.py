"""``tsrflow -m …`` with ``hydra/launcher=process``: a grid's jobs in fresh processes.

``hydra.launcher.n_jobs`` says how many run at a time. What Hydra keeps of a job (``.hydra/``, logging settings,
``hydra.job.env_set``) is kept here too. Hydra's own plugin loader is not involved: it takes launchers only from the
package ``hydra_plugins``.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf, open_dict

from tsrflow.cli.jobs import PRELOAD, TRAIN, JobSpec, Outcome, run_jobs
from tsrflow.cli.preflight import Job


def run_sweep(jobs: Sequence[Job], target: str = TRAIN, preload: Sequence[str] = PRELOAD) -> list[Outcome]:
    """Run validated jobs to their ends and return what became of them."""
    specs = [_spec(job) for job in jobs]
    return run_jobs(
        specs, jobs[0].composed.hydra.launcher.n_jobs, target, preload, prepare=lambda index: _write_down(jobs[index])
    )


def _spec(job: Job) -> JobSpec:
    config = job.composed
    before = HydraConfig.instance().cfg
    HydraConfig.instance().set_config(config)
    try:
        OmegaConf.set_readonly(config.hydra, False)
        with open_dict(config):
            config.hydra.runtime.output_dir = str(job.folder.absolute())
        settings = OmegaConf.to_container(config.hydra.job_logging, resolve=True)
        environment = {str(key): str(value) for key, value in config.hydra.job.env_set.items()}
    finally:
        HydraConfig.instance().cfg = before
    assert isinstance(settings, dict)
    logging: dict[str, Any] | None = {str(k): v for k, v in settings.items()} if settings.get("root") else None
    return JobSpec(job.config, job.folder, environment, logging)


def _write_down(job: Job) -> None:
    """``.hydra/{config,hydra,overrides}.yaml`` in the run folder, as Hydra writes them."""
    config = job.composed
    if config.hydra.output_subdir is None:
        return
    folder = job.folder / str(config.hydra.output_subdir)
    folder.mkdir(parents=True, exist_ok=True)
    OmegaConf.save(_without_hydra(config), folder / "config.yaml")
    OmegaConf.save(OmegaConf.create({"hydra": config.hydra}), folder / "hydra.yaml")
    Path(folder / "overrides.yaml").write_text(OmegaConf.to_yaml(config.hydra.overrides.task), encoding="utf-8")


def _without_hydra(config: DictConfig) -> DictConfig:
    rest = copy.deepcopy(config)
    with open_dict(rest):
        del rest["hydra"]
    return rest
