"""``tracker=tensorboard``: scalars over steps and over generated tokens, hyperparameters with declared metrics, texts.

Everything of a job is one TensorBoard run in one file, ``<run>/tb``: hyperparameters are no sub-run, and the figures
they are compared by are the run's own curves.
"""

# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tensorboard.compat.proto.event_pb2 import Event

from tsrflow.components.trackers import summaries
from tsrflow.components.trackers.config import TensorBoardConfig
from tsrflow.components.trackers.event_file import EventFile
from tsrflow.errors import RunError
from tsrflow.types import RolloutBatch

DECLARED = ("eval/success", "eval/return", "eval/turns", "train/success", "train/return", "cost/decode_tokens")
"""Metrics of the HPARAMS tab; they are the scalars of the same tags."""
TOKENS = "cost/decode_tokens"
"""The scalar that is the second x-axis."""
BY_TOKENS = "by_tokens/"
"""Prefix of the curves over generated tokens."""
CHARTS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "success": {
        "training rollouts and evaluation without search": (
            "train/success",
            "train/success_searched",
            "train/success_naive",
            "eval/success",
        ),
        "the same over generated tokens": (f"{BY_TOKENS}train/success", f"{BY_TOKENS}eval/success"),
    },
    "policy": {
        "entropy": ("train/entropy",),
        "gradient norm": ("train/grad_norm",),
        "share of clipped tokens": ("train/clip_fraction",),
    },
}
"""The custom scalars page."""


class TensorBoardTracker:
    """Writes ``<run>/tb``; a continued run keeps its curves up to the step it continues from and no further.

    Every method raises RunError where the folder cannot be written.
    """

    def __init__(self, config: TensorBoardConfig) -> None:
        self.config = config
        self._folder = Path("tb")
        self._file: EventFile | None = None

    def start(self, run_dir: str, hparams: Mapping[str, Any], step: int) -> None:
        now = time.time()
        head = [
            Event(wall_time=now, step=0, summary=summary)
            for summary in (
                summaries.hyperparameters(hparams, DECLARED, now),
                summaries.text(summaries.CONFIG_TAG, summaries.config_text(hparams)),
                summaries.layout(CHARTS),
            )
        ]
        self._folder = Path(run_dir) / "tb"
        with self._writing():
            self._file = EventFile(self._folder, head, _History(step), self.config.flush_seconds)

    def scalars(self, step: int, values: Mapping[str, float]) -> None:
        """Every value over steps; success, return and evaluation over generated tokens as well."""
        events = [Event(wall_time=time.time(), step=step, summary=summaries.scalars(values))]
        over_tokens = {f"{BY_TOKENS}{tag}": value for tag, value in values.items() if _over_tokens(tag)}
        if over_tokens and TOKENS in values:
            tokens = int(values[TOKENS])
            events.append(Event(wall_time=time.time(), step=tokens, summary=summaries.scalars(over_tokens)))
        self._write(*events)

    def rollouts(self, batch: RolloutBatch) -> None:
        """``text_samples`` trajectories of the step, from its first to its last (plain members come first)."""
        trajectories = batch.trajectories
        count = min(self.config.text_samples, len(trajectories))
        for number in range(count):
            shown = trajectories[number * (len(trajectories) - 1) // max(count - 1, 1)]
            summary = summaries.text(f"trajectories/{number}", summaries.trajectory_text(shown))
            self._write(Event(wall_time=time.time(), step=batch.step, summary=summary))

    def finish(self, summary: Mapping[str, Any]) -> None:
        """Say how the run ended and close. Does nothing where the tracker was never started."""
        if self._file is None:
            return
        now = time.time()
        end = summaries.session_end(summary.get("status") == "finished", now)
        self._write(Event(wall_time=now, step=0, summary=end))
        with self._writing():
            self._file.close()
        self._file = None

    def _write(self, *events: Any) -> None:
        if self._file is None:
            raise RuntimeError("the TensorBoard tracker was not started, or is finished")
        with self._writing():
            self._file.write(*events)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise RunError(f"cannot write {self._folder}: {error.strerror or error}") from error


def _over_tokens(tag: str) -> bool:
    return tag in ("train/success", "train/return") or tag.startswith("eval/")


class _History:
    """Which events of earlier attempts stay when a run continues after ``step``; none where that is 0, because the
    evaluation before the first step is then played again."""

    def __init__(self, step: int) -> None:
        self._step = step
        self._points_kept = False

    def __call__(self, event: Any) -> bool:
        tags = [value.tag for value in event.summary.value]
        if not self._step or not tags or tags[0] in summaries.UNTIMED_TAGS:
            return False
        if tags[0].startswith(BY_TOKENS):  # its x is no step; it was written together with the points before it
            return self._points_kept
        keep = bool(event.step <= self._step)
        if event.summary.value[0].HasField("simple_value"):
            self._points_kept = keep
        return keep
