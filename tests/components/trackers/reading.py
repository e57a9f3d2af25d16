"""Writes with the TensorBoard tracker and reads back with TensorBoard's own readers."""

# mypy: disable-error-code="import-untyped"

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.text.text_plugin import text_array_to_html

from tests.components.made import made_batch, made_trajectory
from tsrflow.components.trackers.config import TensorBoardConfig
from tsrflow.components.trackers.tensorboard import TensorBoardTracker
from tsrflow.types import Group

HPARAMS: dict[str, Any] = {
    "search.name": "beam",
    "search.width": 2,
    "optimizer.lr": 5e-4,
    "optimizer.whiten": True,
    "trainer.threads": None,
    "optimizer.betas": [0.9, 0.999],
}


def written(run: Path) -> list[Path]:
    """Files of the tracker that hold anything."""
    return [file for file in (run / "tb").iterdir() if file.stat().st_size]


def started(run: Path, step: int = 0, **config: Any) -> TensorBoardTracker:
    tracker = TensorBoardTracker(TensorBoardConfig(**config))
    tracker.start(str(run), HPARAMS, step)
    return tracker


def points(step: int, attempt: float = 0.0) -> dict[str, float]:
    """A step's values; ``attempt`` tells one try of it from another."""
    tokens = {"cost/decode_tokens": 1000.0 * step}
    if step % 2 == 0:
        tokens["eval/success"] = 0.01 * step + attempt
    return {"train/success": 0.1 * step + attempt, "train/loss": -float(step), **tokens}


def read(run: Path) -> EventAccumulator:
    accumulator = EventAccumulator(str(run / "tb"), size_guidance={"scalars": 0, "tensors": 0})
    accumulator.Reload()
    return accumulator


def curve(run: Path, tag: str) -> list[tuple[int, Any]]:
    return [(event.step, pytest.approx(event.value)) for event in read(run).Scalars(tag)]


def shown_text(run: Path, tag: str) -> list[str]:
    """What a person sees in the text tab, per step."""
    tensors = read(run).Tensors(tag)
    return [rendered(event.tensor_proto.string_val[0].decode()) for event in tensors]


class _Plain(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def rendered(content: str) -> str:
    """``content`` through TensorBoard's renderer; no element but the block around it may come out."""
    page = _Plain()
    page.feed(text_array_to_html(np.array(content.encode(), dtype=object), enable_markdown=True))
    assert page.tags == ["pre"]
    return page.text


def attempt(run: Path, start: int, stop: int, number: float) -> None:
    """Steps ``start + 1`` to ``stop``; every odd step leaves a trajectory."""
    tracker = started(run, start, text_samples=1)
    for step in range(start + 1 if start else 0, stop + 1):
        tracker.scalars(step, points(step, number))
        if step % 2:
            trajectory = made_trajectory([1.0], texts=[f"attempt {number:g} step {step}"])
            tracker.rollouts(made_batch([Group(0, trajectory.task, (trajectory,))], step))
