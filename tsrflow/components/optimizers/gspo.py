"""``optimizer=gspo``: ratio and clipping of whole trajectories (Zheng et al. 2025, eq. 5 to 7).

The ratio of a trajectory is the geometric mean of its tokens' ratios, so a trajectory is clipped as a whole. Each token
carries that ratio with the gradient of its own log-prob (the paper's token variant, equal to the sequence objective
where all tokens have one advantage): tokens that kept leaves share then count once here as everywhere.
"""

from __future__ import annotations

from tsrflow.components.optimizers.advantages import group_advantages
from tsrflow.components.optimizers.aggregation import aggregate
from tsrflow.components.optimizers.config import GSPOConfig
from tsrflow.components.optimizers.surrogate import masked, policy_terms, sequence_log_ratio
from tsrflow.components.optimizers.types import AdvantageInputs, Advantages, LossInputs, LossOutputs


class GSPO:
    """Group sequence policy optimisation."""

    def __init__(self, config: GSPOConfig) -> None:
        self.config = config

    def advantages(self, inputs: AdvantageInputs) -> Advantages:
        """The group-relative return of each trajectory [B] on all its sampled tokens [B, T]."""
        returns = inputs.turn_rewards.sum(dim=1)
        normalise = self.config.normalise == "std"
        relative = group_advantages(returns, inputs.group, normalise, self.config.min_std)
        return Advantages(relative[:, None] * inputs.sampled.to(relative.dtype))

    def loss(self, inputs: LossInputs) -> LossOutputs:
        """Surrogate of the trajectory's clipped ratio, entropy and KL. Rows must be whole trajectories."""
        inputs = masked(inputs)
        log_ratio = sequence_log_ratio(inputs.logprobs, inputs.old_logprobs, inputs.weights > 0)
        terms, metrics = policy_terms(self.config, inputs, log_ratio)
        return LossOutputs(aggregate(terms, inputs.weights, inputs.normaliser, self.config.aggregation), metrics)
