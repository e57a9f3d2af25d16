"""``optimizer=ppo``: clipped surrogate with a critic; advantages by GAE over action tokens only.

Where rewards go (``credit``), for a turn of three sampled tokens with reward 1 and one of two with reward 2, and the
advantages that follow with gamma = lam = 1 while the critic still says 0 everywhere:

                                a1   a2   a3  (observation)  b1   b2
    trajectory   rewards         0    0    0                  0    3
                 advantages      3    3    3                  3    3
    turn         rewards         0    0    1                  0    2
                 advantages      3    3    3                  2    2

With ``trajectory`` the second turn is also praised for what the first one earned. That does not change the expected
gradient, because the second turn had no part in it, but it adds variance until the critic has learned it.

The critic estimates what the rollouts earn. With searched rollouts that is more than the policy alone would earn.
"""

from __future__ import annotations

from tsrflow.components.optimizers.config import PPOConfig
from tsrflow.components.optimizers.functions import aggregate, gae, token_rewards, value_loss, whiten
from tsrflow.components.optimizers.surrogate import masked, policy_terms
from tsrflow.components.optimizers.types import AdvantageInputs, Advantages, LossInputs, LossOutputs


class PPO:
    """Proximal policy optimisation for multi-turn trajectories."""

    def __init__(self, config: PPOConfig) -> None:
        self.config = config

    def advantages(self, inputs: AdvantageInputs) -> Advantages:
        """GAE on the sampled tokens, whitened over the step unless switched off. Raises ValueError without values."""
        if inputs.values is None:
            raise ValueError("PPO needs the critic's values")
        rewards = token_rewards(inputs.sampled, inputs.turn_index, inputs.turn_rewards, self.config.credit)
        advantages, returns = gae(rewards, inputs.values, inputs.sampled, self.config.gamma, self.config.lam)
        if self.config.whiten:
            advantages = whiten(advantages, inputs.weights, self.config.min_std)
        return Advantages(advantages, returns)

    def loss(self, inputs: LossInputs) -> LossOutputs:
        """Policy terms plus the value loss. Raises ValueError where values or returns are missing."""
        if inputs.values is None or inputs.old_values is None or inputs.returns is None:
            raise ValueError("PPO needs values, old values and returns")
        inputs = masked(inputs)
        assert inputs.values is not None and inputs.old_values is not None and inputs.returns is not None
        terms, metrics = policy_terms(self.config, inputs)
        errors = value_loss(inputs.values, inputs.old_values, inputs.returns, self.config.value_clip)
        metrics["value_loss"] = (errors * inputs.weights).sum().detach()
        total = terms + self.config.value_coef * errors
        return LossOutputs(aggregate(total, inputs.weights, inputs.normaliser, self.config.aggregation), metrics)
