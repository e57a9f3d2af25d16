"""Config of the trackers."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tsrflow.config.base import ComponentConfig


class TensorBoardConfig(ComponentConfig):
    """Event files in the run folder's ``tb``."""

    name: Literal["tensorboard"] = "tensorboard"
    text_samples: int = Field(default=2, ge=0)
    """Trajectories written as text whenever trajectories are recorded."""
    flush_seconds: float = Field(default=10.0, gt=0)
    """Seconds between writes to disk."""


class NullTrackerConfig(ComponentConfig):
    """Nothing beyond ``metrics.jsonl``."""

    name: Literal["none"] = "none"
