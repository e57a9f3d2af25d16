"""``optimizer=rloo``: the baseline of a trajectory is the mean return of the others in its group (Ahmadian et al. 2024,
"Back to basics", arXiv 2402.14740): unbiased, because a trajectory's own return is not part of its baseline.

The paper takes one on-policy step of REINFORCE. Here the clipped ratio of the other objectives stays in the loss, so
that several minibatches or epochs per batch are sound; at the first step its gradient is that of REINFORCE.
"""

from __future__ import annotations

from tsrflow.components.optimizers.advantages import leave_one_out
from tsrflow.components.optimizers.config import RLOOConfig
from tsrflow.components.optimizers.surrogate import policy_loss
from tsrflow.components.optimizers.types import AdvantageInputs, Advantages, LossInputs, LossOutputs


class RLOO:
    """REINFORCE with a leave-one-out baseline."""

    def __init__(self, config: RLOOConfig) -> None:
        self.config = config

    def advantages(self, inputs: AdvantageInputs) -> Advantages:
        """Return minus the mean of the other members [B] on all sampled tokens [B, T]."""
        relative = leave_one_out(inputs.turn_rewards.sum(dim=1), inputs.group)
        return Advantages(relative[:, None] * inputs.sampled.to(relative.dtype))

    def loss(self, inputs: LossInputs) -> LossOutputs:
        """Clipped surrogate, entropy and KL; by default a sum over the tokens of each trajectory, up to a factor."""
        return policy_loss(self.config, inputs)
