"""``optimizer=reinforce_pp``: REINFORCE++ (Hu et al. 2025, arXiv 2501.03262): no critic and no groups.

A token's advantage is the reward that still follows it, less ``kl`` times the log-ratio of policy and reference on it
and on the tokens after it (``kl_in=reward``), normalised over all tokens of the step. The loss is PPO's clipped
surrogate.
"""

from __future__ import annotations

import torch

from tsrflow.components.optimizers.advantages import whiten
from tsrflow.components.optimizers.config import ReinforcePPConfig
from tsrflow.components.optimizers.gae import gae, token_rewards
from tsrflow.components.optimizers.surrogate import policy_loss
from tsrflow.components.optimizers.types import AdvantageInputs, Advantages, LossInputs, LossOutputs


class ReinforcePP:
    """REINFORCE with globally normalised advantages."""

    def __init__(self, config: ReinforcePPConfig) -> None:
        self.config = config

    def advantages(self, inputs: AdvantageInputs) -> Advantages:
        """Rewards to go [B, T], normalised over the step. Raises ValueError where a KL penalty lacks log-probs."""
        config = self.config
        rewards = token_rewards(inputs.sampled, inputs.turn_index, inputs.turn_rewards, config.credit)
        if config.kl > config.kl_in_loss:
            if inputs.old_logprobs is None or inputs.ref_logprobs is None:
                raise ValueError("a KL penalty in the reward needs log-probs of policy and reference")
            rewards = rewards - config.kl * (inputs.old_logprobs - inputs.ref_logprobs).to(rewards.dtype)
        to_go, _ = gae(rewards, torch.zeros_like(rewards), inputs.sampled, config.gamma, 1.0)
        return Advantages(whiten(to_go, inputs.weights, config.min_std))

    def loss(self, inputs: LossInputs) -> LossOutputs:
        """Clipped surrogate and entropy, KL only under ``kl_in=loss``."""
        return policy_loss(self.config, inputs)
