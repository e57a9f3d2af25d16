"""Pure tensor functions that objectives are made of. Shapes: B trajectories, T tokens, K turns, N sampled tokens."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

LOGITS_AT_ONCE = 2**25
"""Logits that exist at the same time: 128 MiB in float32, a few times that with their temporaries."""
FLOAT_NOISE = 1e-6
"""Spread below which numbers count as equal, relative to the largest of them, absolute below 1."""
MAX_LOG_RATIO = 20.0
"""Log-ratio beyond which exponentials are not followed: exp(20) is far from overflow and far from sense."""


def group_advantages(returns: Tensor, group: Tensor, normalise: bool, min_std: float) -> Tensor:
    """float [B]: return minus the mean of its group, over max(std, ``min_std``) where ``normalise`` (GRPO, DeepSeekMath
    section 4.1.2, with a floor under the population standard deviation). ``group`` int [B] is any labelling.

    A group of equal returns, up to float noise, gives exactly zero; so does a group of one.
    """
    advantages = torch.zeros_like(returns)
    for index in sorted(set(group.tolist())):
        members = group == index
        values = returns[members]
        if _equal(values):
            continue
        centred = values - values.mean()
        advantages[members] = centred / values.std(unbiased=False).clamp(min=min_std) if normalise else centred
    return advantages


def _equal(values: Tensor) -> bool:
    """Whether ``values`` (at least one) differ by float noise at most."""
    return bool(values.max() - values.min() <= FLOAT_NOISE * values.abs().max().clamp(min=1.0))


def token_rewards(
    sampled: Tensor, turn_index: Tensor, turn_rewards: Tensor, credit: Literal["trajectory", "turn"]
) -> Tensor:
    """float [B, T]: rewards [B, K] placed on the last sampled token of each turn, or their sum on the last one of all.

    The reward of a turn in which nothing was sampled goes to the last token sampled before it, so none is lost.
    """
    batch, length = sampled.shape
    rewards = torch.zeros(batch, length, dtype=turn_rewards.dtype, device=sampled.device)
    if length == 0:
        return rewards
    positions = torch.arange(length, device=sampled.device).expand(batch, length)
    rows = torch.arange(batch, device=sampled.device)
    turns = turn_rewards.shape[1]
    for turn in range(turns) if credit == "turn" else [turns]:
        last = torch.where(sampled & (turn_index <= turn), positions, -1).max(dim=1).values
        has = last >= 0
        given = turn_rewards[:, turn] if credit == "turn" else turn_rewards.sum(dim=1)
        rewards[rows[has], last[has]] += given[has]
    return rewards


def gae(rewards: Tensor, values: Tensor, sampled: Tensor, gamma: float, lam: float) -> tuple[Tensor, Tensor]:
    """Advantages and returns, float [B, T] each, 0 off the sampled tokens (GAE, Schulman et al. 2016, eq. 16).

    Sampled tokens are moved together first, so a token's successor is the next *sampled* one: observation tokens
    neither decay nor leak anything, whatever stands in ``values`` there.
    """
    order = torch.argsort((~sampled).int(), dim=1, stable=True)  # sampled tokens first, in order
    width = int(sampled.sum(dim=1).max()) if sampled.numel() else 0
    packed = order[:, :width]
    live = sampled.gather(1, packed)
    reward = torch.where(live, rewards.gather(1, packed), 0.0)
    value = torch.where(live, values.to(rewards.dtype).gather(1, packed), 0.0)
    advantage = torch.zeros_like(value)
    running = value.new_zeros(len(value))
    following = value.new_zeros(len(value))
    for t in reversed(range(width)):
        delta = reward[:, t] + gamma * following - value[:, t]
        running = torch.where(live[:, t], delta + gamma * lam * running, 0.0)
        following = torch.where(live[:, t], value[:, t], 0.0)
        advantage[:, t] = running
    advantages = torch.zeros_like(rewards).scatter(1, packed, torch.where(live, advantage, 0.0))
    returns = torch.zeros_like(rewards).scatter(1, packed, torch.where(live, advantage + value, 0.0))
    return advantages, returns


def whiten(values: Tensor, weights: Tensor, min_std: float) -> Tensor:
    """``values`` [B, T] shifted to weighted mean 0 and divided by max(weighted standard deviation, ``min_std``), over
    the tokens with ``weights`` > 0; zero elsewhere, and everywhere where they are equal up to float noise."""
    mask = weights > 0
    inside, share = values[mask], weights[mask]  # padding must not even change the order of additions
    if not len(inside) or _equal(inside):
        return torch.zeros_like(values)
    share = share / share.sum()
    mean = (inside * share).sum()
    std = ((inside - mean) ** 2 * share).sum().sqrt()
    return torch.zeros_like(values).masked_scatter(mask, (inside - mean) / std.clamp(min=min_std))


def clipped_surrogate(
    logprobs: Tensor, old_logprobs: Tensor, advantages: Tensor, low: float, high: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Per-token loss to be minimised, probability ratio, and whether clipping took effect, [B, T] each: PPO's clipped
    objective (Schulman et al. 2017, eq. 7) between 1 - ``low`` and 1 + ``high`` (clip-higher: DAPO 2025, eq. 10).

    The ratio stops growing at exp(``MAX_LOG_RATIO``), so loss and gradient are finite at any log-probs.
    """
    ratio = (logprobs - old_logprobs).clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO).exp()
    plain = ratio * advantages
    clipped = ratio.clamp(1.0 - low, 1.0 + high) * advantages
    return -torch.minimum(plain, clipped), ratio, clipped < plain


def kl_k3(logprobs: Tensor, ref_logprobs: Tensor) -> Tensor:
    """Per-token estimate r - log r - 1 of KL(policy || reference) with r = reference / policy: never negative,
    unbiased (Schulman 2020, "Approximating KL divergence", k3).

    Beyond log r = ``MAX_LOG_RATIO`` the exponential goes on as its tangent: finite, and still pulling back.
    """
    log_ratio = ref_logprobs - logprobs
    near = log_ratio.clamp(max=MAX_LOG_RATIO)
    return near.expm1() + near.exp() * (log_ratio - near) - log_ratio


def value_loss(values: Tensor, old_values: Tensor, returns: Tensor, clip: float | None) -> Tensor:
    """Half the squared error per token; with ``clip`` the worse of it and that of the value kept near the old one."""
    plain = (values - returns) ** 2
    if clip is None:
        return 0.5 * plain
    near = old_values + (values - old_values).clamp(-clip, clip)
    return 0.5 * torch.maximum(plain, (near - returns) ** 2)


def normaliser(weights: Tensor, aggregation: Literal["token", "sequence"]) -> Tensor:
    """Scalar that a minibatch's loss is divided by: total weight of its tokens, or number of trajectories with any.

    ``weights`` [B, T] are those of the whole minibatch, all microbatches and processes together; dividing each part by
    this one number is what makes the gradient independent of how the minibatch is split.
    """
    if aggregation == "token":
        return weights.sum().clamp(min=1e-12)
    return (weights.sum(dim=1) > 0).sum().clamp(min=1).to(weights.dtype)


def aggregate(terms: Tensor, weights: Tensor, scale: Tensor, aggregation: Literal["token", "sequence"]) -> Tensor:
    """Scalar: what ``terms`` [B, T] of one microbatch add to the mean over the minibatch; ``scale`` is its
    ``normaliser``. "sequence" first averages the terms of each trajectory by their weights."""
    if aggregation == "token":
        return (terms * weights).sum() / scale
    per_trajectory = weights.sum(dim=1)
    return ((terms * weights).sum(dim=1) / per_trajectory.clamp(min=1e-12)).sum() / scale


def token_logprobs(
    hidden: Tensor,
    head_weight: Tensor,
    head_bias: Tensor | None,
    ids: Tensor,
    temperature: float,
    chunk: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Log-prob of ``ids`` [N] and entropy [N] from ``hidden`` [N, H] and the output head [V, H], at ``temperature``.

    Logits exist for ``chunk`` tokens at a time (None: as many as ``LOGITS_AT_ONCE`` allows) and are computed again in
    the backward pass, so memory is chunk x V instead of N x V.
    """
    if len(ids) == 0:
        empty = hidden.sum(dim=-1) * 0.0
        return empty, empty
    chunk = chunk or max(1, LOGITS_AT_ONCE // len(head_weight))
    parts = []
    for start in range(0, len(ids), chunk):
        piece = (hidden[start : start + chunk], head_weight, head_bias, ids[start : start + chunk], temperature)
        if torch.is_grad_enabled() and len(ids) > chunk:
            parts.append(checkpoint(_head, *piece, use_reentrant=False, preserve_rng_state=False))
        else:
            parts.append(_head(*piece))
    return torch.cat([logprob for logprob, _ in parts]), torch.cat([entropy for _, entropy in parts])


def _head(
    hidden: Tensor, weight: Tensor, bias: Tensor | None, ids: Tensor, temperature: float
) -> tuple[Tensor, Tensor]:
    return logprobs_from_logits(torch.nn.functional.linear(hidden, weight, bias), ids, temperature)


def logprobs_from_logits(logits: Tensor, ids: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
    """Log-prob of ``ids`` [N] and entropy [N] under softmax(logits [N, V] / temperature), in float32 at least."""
    logits = logits if logits.dtype == torch.float64 else logits.float()
    distribution = torch.log_softmax(logits / temperature, dim=-1)
    entropy = -(distribution.exp() * distribution).sum(dim=-1)
    return distribution.gather(-1, ids[:, None]).squeeze(-1), entropy
