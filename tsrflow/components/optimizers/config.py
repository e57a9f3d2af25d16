"""Config of the objectives (torch-free). ``docs/objectives.md`` has their formulas side by side."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, ValidationInfo, field_validator

from tsrflow.config.base import Aggregation, OptimizerConfig

Credit = Literal["trajectory", "turn"]


class GroupRelativeConfig(OptimizerConfig):
    """Objectives that compare the trajectories of a group and need no critic."""

    @property
    def needs_groups(self) -> bool:
        return True


class NormalisedConfig(GroupRelativeConfig):
    """Group-relative objectives that may divide by a standard deviation."""

    normalise: Literal["std", "none"] = "std"
    """Divide advantages by the group's standard deviation, or not (as Dr. GRPO does)."""
    min_std: float = Field(default=0.1, gt=0)
    """The divisor is never smaller: nearly equal returns must not become large advantages."""


class GRPOConfig(NormalisedConfig):
    """Group-relative advantages, no critic."""

    name: Literal["grpo"] = "grpo"


class DrGRPOConfig(GroupRelativeConfig):
    """GRPO without the two divisions that bias it: by the group's spread and by the trajectory's length."""

    name: Literal["dr_grpo"] = "dr_grpo"
    aggregation: Aggregation = "constant"
    """As everywhere; a constant divisor is what this objective is about."""


class DAPOConfig(NormalisedConfig):
    """GRPO with clip-higher, token mean and an optional penalty on long trajectories."""

    name: Literal["dapo"] = "dapo"
    overlong: int = Field(default=0, ge=0)
    """Sampled tokens before max_length over which a penalty grows to 1; 0: no penalty."""

    @field_validator("overlong")
    @classmethod
    def _buffer_fits(cls, value: int, info: ValidationInfo) -> int:
        limit = info.data.get("max_length", value)
        if value > limit:
            raise ValueError(f"{value} is more than optimizer.max_length={limit}")
        return value


class RLOOConfig(GroupRelativeConfig):
    """REINFORCE with the mean return of the other members as the baseline."""

    name: Literal["rloo"] = "rloo"
    aggregation: Aggregation = "constant"
    """As everywhere; constant keeps the sum over a trajectory's tokens that REINFORCE has, up to one factor."""


class GSPOConfig(NormalisedConfig):
    """GRPO with one length-normalised ratio per trajectory."""

    name: Literal["gspo"] = "gspo"
    clip_low: float = Field(default=3e-4, ge=0)
    """The ratio of a trajectory is clipped below 1 - clip_low; it moves far less than that of a token."""
    clip_high: float = Field(default=4e-4, ge=0)
    """The ratio of a trajectory is clipped above 1 + clip_high."""
    aggregation: Aggregation = "sequence"
    """As everywhere; the mean over trajectories is what the objective is defined with."""


class GiGPOConfig(NormalisedConfig):
    """Advantages of whole trajectories plus advantages of turns that were taken in the same state."""

    name: Literal["gigpo"] = "gigpo"
    omega: float = Field(default=1.0, ge=0)
    """Weight of the turn's advantage beside the trajectory's; 0 is GRPO."""
    gamma: float = Field(default=0.95, ge=0, le=1)
    """Discount per turn of the return from a turn on."""


class ReinforcePPConfig(OptimizerConfig):
    """REINFORCE with advantages normalised over the whole step; works with single trajectories per task."""

    name: Literal["reinforce_pp"] = "reinforce_pp"
    credit: Credit = "trajectory"
    """Where rewards are placed: all on the last token, or each turn's on its last token."""
    gamma: float = Field(default=1.0, gt=0, le=1)
    """Discount per token."""
    kl_in: Literal["reward", "loss"] = "reward"
    """Where a KL penalty (kl > 0) acts: on the reward of each token, or as a term of the loss."""
    min_std: float = Field(default=0.1, gt=0)
    """Normalisation never divides by less: nearly equal returns must not become large advantages."""

    @property
    def kl_in_loss(self) -> float:
        return self.kl if self.kl_in == "loss" else 0.0


class PPOConfig(OptimizerConfig):
    """Clipped surrogate with a critic and generalised advantage estimation."""

    name: Literal["ppo"] = "ppo"
    critic: Literal["shared", "separate"] = "shared"
    """A value head on the policy's hidden states, or a trunk of its own."""
    critic_lr: float = Field(default=1e-3, ge=0)
    """Learning rate of the critic: of its head, and of its own trunk where it has one."""
    critic_on: Literal["kept", "all"] = "kept"
    """Train the critic on the groups the filter kept, or also on those it dropped."""
    value_coef: float = Field(default=0.5, ge=0)
    """Weight of the value loss."""
    value_clip: float | None = Field(default=0.2, gt=0)
    """Values may move this far from the old ones per step; None: no clipping."""
    gae: Literal["token", "bi_level"] = "token"
    """One chain of tokens, or GAE over turns first and then over the tokens inside each turn."""
    gamma: float = Field(default=1.0, gt=0, le=1)
    """Discount per token."""
    lam: float = Field(default=1.0, ge=0, le=1)
    """Lambda of GAE over tokens."""
    turn_gamma: float = Field(default=0.95, gt=0, le=1)
    """Discount per turn under gae=bi_level."""
    turn_lam: float = Field(default=1.0, ge=0, le=1)
    """Lambda of GAE over turns under gae=bi_level."""
    credit: Credit = "turn"
    """Where rewards are placed: all on the last token, or each turn's on its last token."""
    whiten: bool = True
    """Bring the advantages of a step to mean 0 and standard deviation 1."""
    min_std: float = Field(default=0.1, gt=0)
    """Whitening never divides by less: nearly equal advantages must not become large ones."""

    @property
    def needs_values(self) -> bool:
        return True

    @property
    def critic_on_dropped(self) -> bool:
        return self.critic_on == "all"
