"""Config of the scorers."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tsrflow.config.base import ComponentConfig


class ProgressConfig(ComponentConfig):
    """Rewards so far plus the weighted potential of the state."""

    name: Literal["progress"] = "progress"
    potential_weight: float = Field(default=1.0, ge=0)
    """Weight of the potential, which lies in [-1, 1]."""


class EnvRewardConfig(ComponentConfig):
    """Rewards so far and nothing else."""

    name: Literal["env_reward"] = "env_reward"
