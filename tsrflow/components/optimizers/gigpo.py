"""``optimizer=gigpo``: group-in-group advantages (Feng et al. 2025, arXiv 2505.10978).

A token's advantage is that of its trajectory in its group, plus ``omega`` times that of its turn among all turns of the
group that were taken in the same state, by the discounted return from the turn on. Every group shares at least its
first state; leaves that one search keeps share the states down to where they part.

States are told apart by ``Env.state_hash``. Only kept trajectories are compared: a rejected candidate was not played to
its end and has no return. A turn that several kept leaves share counts once, with the mean of their returns.
"""

from __future__ import annotations

from tsrflow.components.optimizers.advantages import (
    group_advantages,
    rewards_to_go,
    step_advantages,
    turn_values,
    turn_weights,
)
from tsrflow.components.optimizers.config import GiGPOConfig
from tsrflow.components.optimizers.surrogate import policy_loss
from tsrflow.components.optimizers.types import AdvantageInputs, Advantages, LossInputs, LossOutputs


class GiGPO:
    """Group-in-group policy optimisation."""

    def __init__(self, config: GiGPOConfig) -> None:
        self.config = config

    def advantages(self, inputs: AdvantageInputs) -> Advantages:
        """Trajectory advantage plus ``omega`` times turn advantage, [B, T]. Raises ValueError without anchors."""
        if inputs.anchor is None:
            raise ValueError("GiGPO needs the state before each turn")
        config, rewards = self.config, inputs.turn_rewards
        normalise = config.normalise == "std"
        episode = group_advantages(rewards.sum(dim=1), inputs.group, normalise, config.min_std)
        weights = turn_weights(inputs.weights, inputs.turn_index, rewards.shape[1]).to(rewards.dtype)
        returns = rewards_to_go(rewards, config.gamma)
        step = step_advantages(returns, inputs.anchor, weights, normalise, config.min_std)
        return Advantages(turn_values(episode[:, None] + config.omega * step, inputs.turn_index))

    def loss(self, inputs: LossInputs) -> LossOutputs:
        """Clipped surrogate, entropy and KL, averaged as ``optimizer.aggregation`` says."""
        return policy_loss(self.config, inputs)
