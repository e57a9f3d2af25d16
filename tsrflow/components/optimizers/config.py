"""Config of the objectives (torch-free)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tsrflow.config.base import OptimizerConfig


class GRPOConfig(OptimizerConfig):
    """Group-relative advantages, no critic."""

    name: Literal["grpo"] = "grpo"
    normalise: Literal["std", "none"] = "std"
    """Divide advantages by the group's standard deviation, or not (as Dr. GRPO does)."""
    min_std: float = Field(default=0.1, gt=0)
    """The divisor is never smaller: nearly equal returns must not become large advantages."""


class PPOConfig(OptimizerConfig):
    """Clipped surrogate with a critic and generalised advantage estimation."""

    name: Literal["ppo"] = "ppo"
    critic: Literal["shared", "separate"] = "shared"
    """A value head on the policy's hidden states, or a trunk of its own."""
    critic_lr: float = Field(default=1e-3, gt=0)
    """Learning rate of the critic."""
    value_coef: float = Field(default=0.5, ge=0)
    """Weight of the value loss."""
    value_clip: float | None = Field(default=0.2, gt=0)
    """Values may move this far from the old ones per step; None: no clipping."""
    gamma: float = Field(default=1.0, gt=0, le=1)
    """Discount per token."""
    lam: float = Field(default=1.0, ge=0, le=1)
    """Lambda of GAE."""
    credit: Literal["trajectory", "turn"] = "turn"
    """Where rewards are placed: all on the last token, or each turn's on its last token."""
    whiten: bool = True
    """Bring the advantages of a step to mean 0 and standard deviation 1."""
    min_std: float = Field(default=0.1, gt=0)
    """Whitening never divides by less: nearly equal advantages must not become large ones."""

    @property
    def needs_values(self) -> bool:
        return True
