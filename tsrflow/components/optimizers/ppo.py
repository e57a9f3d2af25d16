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

``gae=bi_level`` runs GAE over turns first, with ``turn_gamma`` and ``turn_lam``, and then over the tokens inside each.

The critic estimates what the rollouts earn. With searched rollouts that is more than the policy alone would earn.
``critic_on=all`` lets it see the groups too that the filter drops: they have no policy loss, and whitening skips them.
With ``critic=shared`` their value loss still moves the trunk that policy and critic share.
"""

from __future__ import annotations

from tsrflow.components.optimizers.advantages import whiten
from tsrflow.components.optimizers.aggregation import aggregate
from tsrflow.components.optimizers.config import PPOConfig
from tsrflow.components.optimizers.gae import bi_level_gae, gae, token_rewards
from tsrflow.components.optimizers.surrogate import masked, policy_terms, value_loss
from tsrflow.components.optimizers.types import AdvantageInputs, Advantages, LossInputs, LossOutputs


class PPO:
    """Proximal policy optimisation for multi-turn trajectories."""

    def __init__(self, config: PPOConfig) -> None:
        self.config = config

    def advantages(self, inputs: AdvantageInputs) -> Advantages:
        """GAE on the sampled tokens, whitened over the step unless switched off. Raises ValueError without values."""
        if inputs.values is None:
            raise ValueError("PPO needs the critic's values")
        c = self.config
        rewards = token_rewards(inputs.sampled, inputs.turn_index, inputs.turn_rewards, c.credit)
        if c.gae == "token":
            advantages, returns = gae(rewards, inputs.values, inputs.sampled, c.gamma, c.lam)
        else:
            advantages, returns = bi_level_gae(
                rewards, inputs.values, inputs.turn_index, c.gamma, c.lam, c.turn_gamma, c.turn_lam
            )
        if c.whiten:
            advantages = whiten(advantages, inputs.weights, c.min_std)
        return Advantages(advantages, returns)

    def loss(self, inputs: LossInputs) -> LossOutputs:
        """Policy terms plus the value loss. Raises ValueError where values or returns are missing."""
        if inputs.values is None or inputs.old_values is None or inputs.returns is None:
            raise ValueError("PPO needs values, old values and returns")
        inputs = masked(inputs)
        assert inputs.values is not None and inputs.old_values is not None and inputs.returns is not None
        terms, metrics = policy_terms(self.config, inputs)
        errors = value_loss(inputs.values, inputs.old_values, inputs.returns, self.config.value_clip)
        weights = inputs.weights if inputs.critic_weights is None else inputs.critic_weights
        scale = inputs.normaliser if inputs.critic_normaliser is None else inputs.critic_normaliser
        metrics["value_loss"] = (errors * weights).sum().detach()
        metrics["value_tokens"] = weights.sum().detach()
        policy = aggregate(terms, inputs.weights, inputs.normaliser, self.config.aggregation)
        value = aggregate(errors, weights, scale, self.config.aggregation)
        return LossOutputs(policy + self.config.value_coef * value, metrics)
