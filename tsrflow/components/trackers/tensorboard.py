"""``tracker=tensorboard``: scalars over steps and over generated tokens, hyperparameters with declared metrics, texts.

Everything of a job is one TensorBoard run: hyperparameters are written into the same event file, never as a sub-run.
"""

from __future__ import annotations

import html
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch.utils.tensorboard import SummaryWriter
from torch.utils.tensorboard.summary import hparams as hparams_summaries

from tsrflow.components.trackers.config import TensorBoardConfig
from tsrflow.types import RolloutBatch, Trajectory

DECLARED = ("eval/success", "eval/return", "eval/turns", "train/success", "train/return", "cost/decode_tokens")
"""Metrics of the HPARAMS tab; they are the scalars of the same tags."""
OVER_TOKENS = ("train/success", "train/return", "eval/success", "eval/return")
"""Scalars that are also drawn over generated tokens, under ``by_tokens/``."""


class TensorBoardTracker:
    """Writes ``<run>/tb``; a continued run hides what came after the step it continues from."""

    def __init__(self, config: TensorBoardConfig) -> None:
        self.config = config
        self._writer: SummaryWriter | None = None

    def start(self, run_dir: str, hparams: Mapping[str, Any], step: int) -> None:
        folder = Path(run_dir) / "tb"
        purge = step + 1 if step else None
        writer = SummaryWriter(str(folder), purge_step=purge, flush_secs=int(max(1, self.config.flush_seconds)))
        if not step:
            plain = {k: v if isinstance(v, bool | int | float | str) else str(v) for k, v in hparams.items()}
            file_writer = writer.file_writer
            assert file_writer is not None
            for summary in hparams_summaries(plain, dict.fromkeys(DECLARED, 0.0)):
                file_writer.add_summary(summary)
            rows = "".join(f"| {key} | {value} |\n" for key, value in hparams.items())
            writer.add_text("config", f"| key | value |\n|---|---|\n{html.escape(rows)}")
        self._writer = writer

    def scalars(self, step: int, values: Mapping[str, float]) -> None:
        assert self._writer is not None
        tokens = int(values.get("cost/decode_tokens", 0))
        for tag, value in values.items():
            self._writer.add_scalar(tag, value, step)
            if tag in OVER_TOKENS:
                self._writer.add_scalar(f"by_tokens/{tag}", value, tokens)

    def rollouts(self, batch: RolloutBatch) -> None:
        assert self._writer is not None
        for number, trajectory in enumerate(batch.trajectories[: self.config.text_samples]):
            self._writer.add_text(f"trajectories/{number}", _markdown(trajectory), batch.step)

    def finish(self, summary: Mapping[str, Any]) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None


def _markdown(trajectory: Trajectory) -> str:
    """A trajectory as preformatted text; whatever the model wrote is escaped."""
    lines = [
        f"{trajectory.task.id}: {'success' if trajectory.success else 'no success'}, return {trajectory.return_:g}"
    ]
    lines.append(trajectory.path[0].observation)
    for node in trajectory.path[1:]:
        lines += [f"> {node.turn.text if node.turn else ''}   (score {node.score:g})", node.observation]
    return f"<pre>{html.escape(chr(10).join(lines))}</pre>"
