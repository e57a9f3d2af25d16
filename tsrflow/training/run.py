"""``tsrflow.run``: one training run from a validated config to a finished run folder."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import lightning
import torch
from lightning.pytorch import Callback, Trainer, seed_everything
from transformers.utils import logging as transformers_logging

import tsrflow
from tsrflow.config.schema import RunConfig
from tsrflow.errors import ConfigError, RunError, TsrflowError
from tsrflow.training import distributed
from tsrflow.training.assemble import Assembly, assemble
from tsrflow.training.callbacks import Checkpointing, Evaluation, Records, WeightSync, cost_metrics
from tsrflow.training.checkpoint import load_state, restore_module
from tsrflow.training.data import RolloutDataModule
from tsrflow.training.display import Display, default_display
from tsrflow.training.folder import RunFolder
from tsrflow.training.processes import process_rank, started_processes
from tsrflow.types import RolloutBatch

_EXPECTED_WARNINGS = (
    r"Your `IterableDataset` has `__len__` defined",  # it is there so that Lightning does not fetch ahead
    r"Found \d+ module\(s\) in eval mode",  # policies have no dropout: the modes do not differ
    r"You have overridden `transfer_batch_to_device`",  # rollouts stay on the CPU until they are padded
    r".*does not have many workers",
    r"`past_key_values` is deprecated",
    r"`isinstance\(treespec, LeafSpec\)` is deprecated",
)


def run(config: RunConfig, run_dir: str | Path | None = None, display: Display | None = None) -> dict[str, Any]:
    """Train as ``config`` says and return the summary that is also written to ``summary.json``.

    The folder (default ``runs/<run name>``) is continued where it holds an unfinished run of the same config; a
    finished one is returned as it is. Raises ConfigError before any work where something cannot be, RunError later.
    """
    folder = RunFolder(Path(run_dir) if run_dir is not None else Path("runs") / config.run_name())
    first = process_rank() == 0
    shown = (display or default_display()) if first else Display()
    if folder.finished(config):
        shown.note(f"{folder.path}: already finished")
        summary: dict[str, Any] = json.loads(folder.summary.read_text(encoding="utf-8"))
        return summary
    _settle(config)
    checkpoint = folder.prepare(config) if first else folder.latest_checkpoint()
    with started_processes(config, folder.path):
        try:
            return _train(config, folder, checkpoint, shown)
        except TsrflowError as error:
            if first:
                _write_failure(folder, config, str(error))
            raise
        finally:
            shown.finish()


def _train(config: RunConfig, folder: RunFolder, checkpoint: Path | None, shown: Display) -> dict[str, Any]:
    seed_everything(config.seed, workers=True, verbose=False)
    assembly = assemble(config)
    module = assembly.module
    state = None
    if checkpoint is not None:
        state = load_state(checkpoint)
        restore_module(module, checkpoint, state)
        module.optimizer_state = state["optimizer"]
    if process_rank() == 0:
        folder.forget_after(module.steps_done if state else -1)
    last = config.trainer.max_steps
    shown.start(config.run_name(), last, module.steps_done)
    if not assembly.renderer.report.append_only:
        shown.note(f"chat template: {assembly.renderer.report.reason}; turns are appended as they were sampled")
    if process_rank() == 0:
        for tracker in assembly.trackers:
            tracker.start(str(folder.path), config.flat(), module.steps_done)
    evaluation = Evaluation(config.eval, last, assembly.collector, assembly.panel, shown)
    trainer = _trainer(
        config,
        [
            WeightSync(assembly.generator),
            evaluation,
            Records(folder, assembly.trackers, config.rollout.record_every, shown),
            Checkpointing(config.trainer, folder),
        ],
    )
    data = RolloutDataModule(_rollout(config, assembly, shown), module.steps_done + 1, last)
    trainer.fit(module, datamodule=data)
    if not evaluation.latest:  # nothing was left to train
        assembly.generator.sync(module.model, module.steps_done)
        evaluation.evaluate(module.steps_done)
    summary = _summary(config, assembly, evaluation.latest)
    if process_rank() == 0:
        for tracker in assembly.trackers:
            tracker.finish(summary)
        folder.write_json(folder.summary, summary)
        folder.write_text(folder.done, config.config_hash() + "\n")
    assembly.generator.close()
    assembly.engine.close()
    return summary


def _rollout(config: RunConfig, assembly: Assembly, shown: Display) -> Callable[[int], RolloutBatch]:
    """``step -> rollouts`` of the slots that belong to this process, by the policy of the step before."""

    def rollout(step: int) -> RolloutBatch:
        if assembly.generator.version != step - 1:
            raise RunError(
                f"step {step}: the generator holds policy version {assembly.generator.version}, not {step - 1}"
            )
        shown.phase("rollout")
        slots = range(distributed.rank(), config.rollout.tasks, distributed.world())
        batch = assembly.collector.collect(step, slots)
        shown.phase("update")
        return batch

    return rollout


def _trainer(config: RunConfig, callbacks: list[Callback]) -> Trainer:
    settings = config.trainer
    logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return Trainer(
                accelerator=settings.accelerator,
                devices=settings.devices,
                strategy=settings.strategy,
                precision=settings.precision,
                max_epochs=1,
                callbacks=callbacks,
                logger=False,
                enable_checkpointing=False,
                enable_progress_bar=False,
                enable_model_summary=False,
                use_distributed_sampler=False,
            )
        except Exception as error:  # Lightning raises several kinds for settings the machine cannot serve
            asked = (
                f"trainer.accelerator={settings.accelerator} devices={settings.devices} strategy={settings.strategy}"
            )
            raise ConfigError(f"{asked} precision={settings.precision}: {error}") from error


def _settle(config: RunConfig) -> None:
    """Threads and warnings that belong to the process, not to the run."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    if config.trainer.threads is not None:
        torch.set_num_threads(config.trainer.threads)
    transformers_logging.disable_progress_bar()
    for expected in _EXPECTED_WARNINGS:
        warnings.filterwarnings("ignore", message=expected)


def _summary(config: RunConfig, assembly: Assembly, evaluation: Mapping[str, Any]) -> dict[str, Any]:
    module = assembly.module
    return {
        "status": "finished",
        "name": config.run_name(),
        "config_hash": config.config_hash(),
        "seed": config.seed,
        "steps": module.steps_done,
        **evaluation,
        "eval/panel": assembly.panel.digest,
        "panels": assembly.split_digests,
        **{key: value for key, value in module.last_metrics.items() if key.startswith("train/")},
        **cost_metrics(module.cost),
        "versions": {"tsrflow": tsrflow.__version__, "torch": torch.__version__, "lightning": lightning.__version__},
    }


def _write_failure(folder: RunFolder, config: RunConfig, error: str) -> None:
    """Leave word of what went wrong where the summary would be, if the folder can be written at all."""
    summary = {"status": "failed", "name": config.run_name(), "config_hash": config.config_hash(), "error": error}
    with contextlib.suppress(TsrflowError):
        folder.write_json(folder.summary, summary)
