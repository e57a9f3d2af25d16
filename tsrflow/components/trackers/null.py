"""``tracker=none``: the run folder's own files are enough."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tsrflow.components.trackers.config import NullTrackerConfig
from tsrflow.types import RolloutBatch


class NullTracker:
    """Writes nothing."""

    def __init__(self, config: NullTrackerConfig) -> None:
        self.config = config

    def start(self, run_dir: str, hparams: Mapping[str, Any], step: int) -> None: ...

    def scalars(self, step: int, values: Mapping[str, float]) -> None: ...

    def rollouts(self, batch: RolloutBatch) -> None: ...

    def finish(self, summary: Mapping[str, Any]) -> None: ...
