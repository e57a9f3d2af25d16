"""What objectives take and give. B trajectories, T tokens (right-padded), K turns.

Per-token tensors are aligned with the token itself: ``logprobs[b, t]`` is log p(token t | tokens before t).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True, slots=True)
class AdvantageInputs:
    """All trajectories of a step. ``sampled`` bool [B, T]; ``turn_index`` int [B, T] (-1 off); ``weights`` float
    [B, T], 0 on all tokens of a trajectory that only the critic trains on; ``turn_rewards`` float [B, K] (0 beyond
    ``num_turns`` int [B]); ``group`` int [B]; ``searched`` bool [B]. Per token and anything off the sampled tokens:
    ``values`` float [B, T] with a critic, ``old_logprobs`` float [B, T], ``ref_logprobs`` with a reference.
    ``anchor`` int [B, K] labels the state before a turn (-1 beyond ``num_turns``); equal only inside one group."""

    sampled: Tensor
    turn_index: Tensor
    weights: Tensor
    turn_rewards: Tensor
    num_turns: Tensor
    group: Tensor
    searched: Tensor
    values: Tensor | None = None
    anchor: Tensor | None = None
    old_logprobs: Tensor | None = None
    ref_logprobs: Tensor | None = None


@dataclass(frozen=True, slots=True)
class Advantages:
    """``advantages`` float [B, T], 0 off the sampled tokens; ``returns`` likewise, only with a critic."""

    advantages: Tensor
    returns: Tensor | None = None


@dataclass(frozen=True, slots=True)
class LossInputs:
    """One microbatch, all float [B, T]; ``weights`` is the loss mask (0 off sampled tokens, 1 / number of kept leaves
    that share the token on them); ``normaliser`` is the scalar of the whole minibatch over all processes.

    A row is a whole trajectory: the ratio of ``gspo`` and aggregation=sequence|constant are defined on trajectories, so
    a minibatch is split between rows, never inside one. ``critic_weights`` and ``critic_normaliser`` are the same two
    for the value loss, given where the critic trains on other tokens than the policy.
    """

    logprobs: Tensor
    old_logprobs: Tensor
    entropy: Tensor
    advantages: Tensor
    weights: Tensor
    normaliser: Tensor
    values: Tensor | None = None
    old_values: Tensor | None = None
    returns: Tensor | None = None
    ref_logprobs: Tensor | None = None
    critic_weights: Tensor | None = None
    critic_normaliser: Tensor | None = None


@dataclass(frozen=True, slots=True)
class LossOutputs:
    """``loss`` scalar; ``metrics`` are weighted sums over tokens: ``tokens`` is the sum of weights, ``value_tokens``
    that of the critic's, by which ``value_loss`` is to be divided."""

    loss: Tensor
    metrics: Mapping[str, Tensor]
