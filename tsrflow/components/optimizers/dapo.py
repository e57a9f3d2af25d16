"""``optimizer=dapo``: GRPO with DAPO's changes (Yu et al. 2025): clip-higher (eq. 10), mean over all tokens of a
minibatch (eq. 12), and a soft punishment of overlong trajectories (eq. 13, off unless ``overlong`` is set).

The fourth change, dynamic sampling (eq. 11), is a filter's work: ``experiment=dapo`` drops groups without spread.
"""

from __future__ import annotations

from tsrflow.components.optimizers.advantages import group_advantages, overlong_penalty
from tsrflow.components.optimizers.config import DAPOConfig
from tsrflow.components.optimizers.surrogate import policy_loss
from tsrflow.components.optimizers.types import AdvantageInputs, Advantages, LossInputs, LossOutputs


class DAPO:
    """Decoupled clip and dynamic sampling policy optimisation."""

    def __init__(self, config: DAPOConfig) -> None:
        self.config = config

    def advantages(self, inputs: AdvantageInputs) -> Advantages:
        """The group-relative return [B], length penalty included, on all sampled tokens [B, T]."""
        returns = inputs.turn_rewards.sum(dim=1)
        penalty = overlong_penalty(inputs.sampled.sum(dim=1), self.config.max_length, self.config.overlong)
        normalise = self.config.normalise == "std"
        relative = group_advantages(returns + penalty.to(returns.dtype), inputs.group, normalise, self.config.min_std)
        return Advantages(relative[:, None] * inputs.sampled.to(relative.dtype))

    def loss(self, inputs: LossInputs) -> LossOutputs:
        """Clipped surrogate, entropy and KL, by default averaged over tokens."""
        return policy_loss(self.config, inputs)
