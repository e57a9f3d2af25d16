"""``optimizer=dr_grpo``: GRPO "done right" (Liu et al. 2025, "Understanding R1-Zero-like training").

Dividing by a group's standard deviation gives very easy and very hard tasks more weight, and dividing by a trajectory's
own length makes long failures cheap. Both divisions are left out: the advantage is the return minus the group's mean,
and every trajectory's sum is divided by the same ``max_length``.
"""

from __future__ import annotations

from tsrflow.components.optimizers.advantages import group_advantages
from tsrflow.components.optimizers.config import DrGRPOConfig
from tsrflow.components.optimizers.surrogate import policy_loss
from tsrflow.components.optimizers.types import AdvantageInputs, Advantages, LossInputs, LossOutputs


class DrGRPO:
    """Group-relative policy optimisation without standard deviation and length in the denominator."""

    def __init__(self, config: DrGRPOConfig) -> None:
        self.config = config

    def advantages(self, inputs: AdvantageInputs) -> Advantages:
        """Return minus group mean [B] on all sampled tokens [B, T]."""
        relative = group_advantages(inputs.turn_rewards.sum(dim=1), inputs.group, False, 0.0)
        return Advantages(relative[:, None] * inputs.sampled.to(relative.dtype))

    def loss(self, inputs: LossInputs) -> LossOutputs:
        """Clipped surrogate, entropy and KL; by default summed per trajectory and divided by a constant."""
        return policy_loss(self.config, inputs)
