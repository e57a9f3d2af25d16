"""``optimizer=grpo``: every token of a trajectory gets its return relative to its group (DeepSeekMath, 2024).

The paper this project follows searches for better trajectories and leaves this objective as it is: searched
trajectories enter as if the policy had sampled them.
"""

from __future__ import annotations

from tsrflow.components.optimizers.advantages import group_advantages
from tsrflow.components.optimizers.config import GRPOConfig
from tsrflow.components.optimizers.surrogate import policy_loss
from tsrflow.components.optimizers.types import AdvantageInputs, Advantages, LossInputs, LossOutputs


class GRPO:
    """Group-relative policy optimisation with a floor under the standard deviation."""

    def __init__(self, config: GRPOConfig) -> None:
        self.config = config

    def advantages(self, inputs: AdvantageInputs) -> Advantages:
        """The group-relative return of each trajectory [B] on all its sampled tokens [B, T]."""
        returns = inputs.turn_rewards.sum(dim=1)
        normalise = self.config.normalise == "std"
        relative = group_advantages(returns, inputs.group, normalise, self.config.min_std)
        return Advantages(relative[:, None] * inputs.sampled.to(relative.dtype))

    def loss(self, inputs: LossInputs) -> LossOutputs:
        """Clipped surrogate, entropy and KL, averaged as ``optimizer.aggregation`` says."""
        return policy_loss(self.config, inputs)
