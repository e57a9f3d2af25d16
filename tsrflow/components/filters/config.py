"""Config of the instance filters."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tsrflow.config.base import ComponentConfig


class NoFilterConfig(ComponentConfig):
    """Train on every group."""

    name: Literal["none"] = "none"


class SpreadConfig(ComponentConfig):
    """What a group's uncertainty is measured by."""

    metric: Literal["return", "success", "score"] = "return"
    """Figure whose standard deviation inside the group counts."""
    members: Literal["all", "naive"] = "all"
    """Measure it over all members, or over the plain rollouts that rollout.mix puts into the group."""
    include_zero: bool = False
    """Whether groups without any spread may be kept, after all others."""


class RewardStdConfig(SpreadConfig):
    """Keep the most uncertain groups."""

    name: Literal["reward_std"] = "reward_std"
    fraction: float = Field(default=0.25, gt=0, le=1)
    """Share of the groups that is kept, rounded up."""


class TopPConfig(SpreadConfig):
    """Keep the groups that carry most of the uncertainty."""

    name: Literal["top_p"] = "top_p"
    p: float = Field(default=0.9, gt=0, le=1)
    """Share of the summed standard deviation that the kept groups carry; 1 keeps every group that may be kept."""
    eps: float = Field(default=0.01, ge=0)
    """Absolute slack on that sum; a step whose groups hardly differ at all is not trained on."""
