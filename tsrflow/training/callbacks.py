"""What happens around a training step, one small Lightning callback each, in the order they must run:
weight sync, evaluation, records, checkpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer

from tsrflow.config.schema import EvalConfig, TrainerConfig
from tsrflow.errors import RunError
from tsrflow.evaluation.evaluate import play_panel, summarise, wilson
from tsrflow.evaluation.panels import Panel
from tsrflow.protocols import Generator as PolicyGenerator
from tsrflow.protocols import Tracker
from tsrflow.rollout.collect import Collector
from tsrflow.training import distributed
from tsrflow.training.checkpoint import save_checkpoint
from tsrflow.training.display import Display
from tsrflow.training.folder import RunFolder
from tsrflow.training.module import SearchPolicyModule
from tsrflow.training.records import record_lines
from tsrflow.types import Cost

EMPTY_STEPS = 20
"""Steps in a row without a group to train on after which a run stops."""


class StepCallback(Callback):
    """Calls ``after_step(trainer, module)`` after every training step."""

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        assert isinstance(pl_module, SearchPolicyModule)
        self.after_step(trainer, pl_module)

    def after_step(self, trainer: Trainer, module: SearchPolicyModule) -> None:
        raise TypeError(f"{type(self).__name__} does not say what happens after a step")


class WeightSync(StepCallback):
    """Gives the generator the new weights under a new policy version: the number of steps trained on."""

    def __init__(self, generator: PolicyGenerator) -> None:
        self._generator = generator

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        assert isinstance(pl_module, SearchPolicyModule)
        self._generator.sync(pl_module.model, pl_module.steps_done)

    def after_step(self, trainer: Trainer, module: SearchPolicyModule) -> None:
        self._generator.sync(module.model, module.steps_done)


class Evaluation(StepCallback):
    """Plays the panel without search before the first step, every ``eval.every`` steps and after the last one."""

    def __init__(
        self, config: EvalConfig, last_step: int, collector: Collector, panel: Panel, display: Display
    ) -> None:
        self._config = config
        self._last_step = last_step
        self._collector = collector
        self._panel = panel
        self._display = display
        self.latest: dict[str, Any] = {}

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        assert isinstance(pl_module, SearchPolicyModule)
        if pl_module.steps_done == 0 and self._config.every:
            pl_module.last_metrics = dict(self.evaluate(0))

    def after_step(self, trainer: Trainer, module: SearchPolicyModule) -> None:
        step = module.steps_done
        if step == self._last_step or (self._config.every and step % self._config.every == 0):
            module.last_metrics = module.last_metrics | self.evaluate(step)

    def evaluate(self, step: int) -> dict[str, float]:
        """``eval/*`` of the policy after ``step``; ``latest`` also holds the interval of the success rate."""
        self._display.phase("eval")
        mine = self._panel.tasks[distributed.rank() :: distributed.world()]
        played = [
            p for part in distributed.gather(play_panel(self._collector, mine, self._config.temperature)) for p in part
        ]
        metrics = summarise(played)
        interval = wilson(sum(p.success for p in played), len(played))
        self.latest = {**metrics, "eval/success_ci95": list(interval), "eval/tasks": len(played)}
        self._display.evaluated(step, self.latest)
        return metrics


class Records(StepCallback):
    """Writes metrics, trackers and trajectories (first process only)."""

    def __init__(self, folder: RunFolder, trackers: Sequence[Tracker], every: int, display: Display) -> None:
        self._folder = folder
        self._trackers = trackers
        self._every = every
        self._display = display

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        assert isinstance(pl_module, SearchPolicyModule)
        if pl_module.steps_done == 0 and pl_module.last_metrics and trainer.is_global_zero:
            self._write(0, pl_module.last_metrics | cost_metrics(pl_module.cost))

    def after_step(self, trainer: Trainer, module: SearchPolicyModule) -> None:
        step, batch = module.steps_done, module.last_rollouts
        if not trainer.is_global_zero:
            return
        self._write(step, module.last_metrics | cost_metrics(module.cost))
        if self._every and (step % self._every == 0 or step == 1) and batch is not None:
            path = self._folder.trajectories / f"step_{step:06d}.jsonl"
            self._folder.write_text(path, "".join(f"{line}\n" for line in record_lines(batch)))
            for tracker in self._trackers:
                tracker.rollouts(batch)
        self._display.step(step, module.last_metrics)

    def _write(self, step: int, values: Mapping[str, float]) -> None:
        self._folder.append_metrics(step, values)
        try:
            for tracker in self._trackers:
                tracker.scalars(step, values)
        except OSError as error:
            raise self._folder.failed(self._folder.path / "tb", error) from error


class Checkpointing(StepCallback):
    """Saves every ``trainer.checkpoint_every`` steps and after the last one; stops a run with nothing to train on."""

    def __init__(self, config: TrainerConfig, folder: RunFolder) -> None:
        self._config = config
        self._folder = folder

    def after_step(self, trainer: Trainer, module: SearchPolicyModule) -> None:
        step = module.steps_done
        if module.empty_steps >= EMPTY_STEPS:
            raise RunError(
                f"step {step}: no group was trained on for {EMPTY_STEPS} steps in a row; the filter or the environment "
                "lets nothing through (see train/kept_groups and rollout/dropped in metrics.jsonl)"
            )
        due = self._config.checkpoint_every and step % self._config.checkpoint_every == 0
        if (due or step == self._config.max_steps) and trainer.is_global_zero:
            save_checkpoint(self._folder, module, trainer.optimizers[0], self._config.keep_checkpoints)
        trainer.strategy.barrier()


def cost_metrics(cost: Cost) -> dict[str, float]:
    """``cost/*``: cumulative over the run, interrupted attempts not counted."""
    return {f"cost/{key}": value for key, value in asdict(cost).items()}
