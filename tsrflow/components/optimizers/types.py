"""What objectives take and give. B trajectories, T tokens (right-padded), K turns.

Per-token tensors are aligned with the token itself: ``logprobs[b, t]`` is log p(token t | tokens before t).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True, slots=True)
class AdvantageInputs:
    """``sampled`` bool [B, T]; ``turn_index`` int [B, T] (-1 off); ``weights`` float [B, T]; ``turn_rewards`` float
    [B, K] (0 beyond ``num_turns`` int [B]); ``group`` int [B]; ``searched`` bool [B]; ``values`` float [B, T] or None,
    anything off the sampled tokens."""

    sampled: Tensor
    turn_index: Tensor
    weights: Tensor
    turn_rewards: Tensor
    num_turns: Tensor
    group: Tensor
    searched: Tensor
    values: Tensor | None = None


@dataclass(frozen=True, slots=True)
class Advantages:
    """``advantages`` float [B, T], 0 off the sampled tokens; ``returns`` likewise, only with a critic."""

    advantages: Tensor
    returns: Tensor | None = None


@dataclass(frozen=True, slots=True)
class LossInputs:
    """One microbatch, all float [B, T]; ``weights`` is the loss mask (0 off sampled tokens, 1 / number of kept leaves
    that share the token on them); ``normaliser`` is the scalar of the whole minibatch over all processes."""

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


@dataclass(frozen=True, slots=True)
class LossOutputs:
    """``loss`` scalar; ``metrics`` are weighted sums over tokens, ``metrics["tokens"]`` is the sum of weights."""

    loss: Tensor
    metrics: Mapping[str, Tensor]
