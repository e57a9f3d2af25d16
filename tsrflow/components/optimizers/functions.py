"""Pure tensor functions that objectives are made of. Shapes: B trajectories, T tokens, K turns, N sampled tokens."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

CHUNK = 2048
"""Tokens whose logits exist at the same time."""
FLOAT_NOISE = 1e-6
"""Relative spread below which returns count as equal."""


def group_advantages(returns: Tensor, group: Tensor, normalise: bool, min_std: float) -> Tensor:
    """float [B]: return minus the mean of its group, over max(std, ``min_std``) where ``normalise`` (GRPO, DeepSeekMath
    eq. 3, with a floor). A group of equal returns, up to float noise, gives exactly zero."""
    advantages = torch.zeros_like(returns)
    for index in sorted(set(group.tolist())):
        members = group == index
        values = returns[members]
        spread = values.max() - values.min()
        if spread <= FLOAT_NOISE * values.abs().max().clamp(min=1.0):
            continue
        centred = values - values.mean()
        divisor = values.std(unbiased=False).clamp(min=min_std) if normalise else torch.ones_like(spread)
        advantages[members] = centred / divisor
    return advantages


def token_rewards(
    sampled: Tensor, turn_index: Tensor, turn_rewards: Tensor, credit: Literal["trajectory", "turn"]
) -> Tensor:
    """float [B, T]: rewards placed on the last sampled token of each turn, or their sum on the last one of all."""
    batch, length = sampled.shape
    positions = torch.arange(length, device=sampled.device).expand(batch, length)
    rewards = torch.zeros(batch, length, dtype=turn_rewards.dtype, device=sampled.device)
    rows = torch.arange(batch, device=sampled.device)
    if credit == "trajectory":
        last = torch.where(sampled, positions, -1).max(dim=1).values
        has = last >= 0
        rewards[rows[has], last[has]] = turn_rewards.sum(dim=1)[has]
        return rewards
    for turn in range(turn_rewards.shape[1]):
        last = torch.where(sampled & (turn_index == turn), positions, -1).max(dim=1).values
        has = last >= 0
        rewards[rows[has], last[has]] += turn_rewards[has, turn]
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
    value = torch.where(live, values.gather(1, packed), 0.0)
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


def whiten(values: Tensor, weights: Tensor) -> Tensor:
    """``values`` with weighted mean 0 and standard deviation 1 over ``weights`` > 0; all zero where they are equal."""
    mask = weights > 0
    total = weights.sum()
    if not bool(mask.any()):
        return torch.zeros_like(values)
    inside = values[mask]
    if inside.max() - inside.min() <= FLOAT_NOISE * inside.abs().max().clamp(min=1.0):
        return torch.zeros_like(values)
    mean = (values * weights).sum() / total
    variance = ((values - mean) ** 2 * weights).sum() / total
    return torch.where(mask, (values - mean) / variance.sqrt().clamp(min=1e-4), 0.0)


def clipped_surrogate(
    logprobs: Tensor, old_logprobs: Tensor, advantages: Tensor, low: float, high: float
) -> tuple[Tensor, Tensor, Tensor]:
    """PPO's per-token loss (to be minimised), the ratio, and whether it was clipped (Schulman et al. 2017, eq. 7)."""
    ratio = (logprobs - old_logprobs).clamp(-20.0, 20.0).exp()
    plain = ratio * advantages
    clipped = ratio.clamp(1.0 - low, 1.0 + high) * advantages
    return -torch.minimum(plain, clipped), ratio, clipped < plain


def kl_k3(logprobs: Tensor, ref_logprobs: Tensor) -> Tensor:
    """Per-token estimate of KL(policy || reference), never negative (Schulman's k3); finite at any log-ratio."""
    log_ratio = (ref_logprobs - logprobs).clamp(-20.0, 20.0)
    return log_ratio.exp() - log_ratio - 1.0


def value_loss(values: Tensor, old_values: Tensor, returns: Tensor, clip: float | None) -> Tensor:
    """Half the squared error per token; with ``clip`` the worse of it and that of the value kept near the old one."""
    plain = (values - returns) ** 2
    if clip is None:
        return 0.5 * plain
    near = old_values + (values - old_values).clamp(-clip, clip)
    return 0.5 * torch.maximum(plain, (near - returns) ** 2)


def normaliser(weights: Tensor, aggregation: Literal["token", "sequence"]) -> Tensor:
    """What a minibatch's loss is divided by: its total weight, or its number of trajectories with any weight."""
    if aggregation == "token":
        return weights.sum().clamp(min=1e-12)
    return (weights.sum(dim=1) > 0).sum().clamp(min=1).to(weights.dtype)


def aggregate(terms: Tensor, weights: Tensor, scale: Tensor, aggregation: Literal["token", "sequence"]) -> Tensor:
    """Scalar: per-token ``terms`` [B, T] to this microbatch's part of the minibatch mean."""
    if aggregation == "token":
        return (terms * weights).sum() / scale
    per_trajectory = weights.sum(dim=1)
    return ((terms * weights).sum(dim=1) / per_trajectory.clamp(min=1e-12)).sum() / scale


def token_logprobs(
    hidden: Tensor, head_weight: Tensor, head_bias: Tensor | None, ids: Tensor, temperature: float, chunk: int = CHUNK
) -> tuple[Tensor, Tensor]:
    """Log-prob of ``ids`` [N] and entropy [N] from ``hidden`` [N, H] and the output head [V, H], at ``temperature``.

    Logits exist for ``chunk`` tokens at a time and are computed again in the backward pass: memory is chunk x V.
    """
    if len(ids) == 0:
        empty = hidden.sum(dim=-1) * 0.0
        return empty, empty
    parts = []
    for start in range(0, len(ids), chunk):
        piece = (hidden[start : start + chunk], head_weight, head_bias, ids[start : start + chunk], temperature)
        if torch.is_grad_enabled() and len(ids) > chunk:
            parts.append(checkpoint(_head, *piece, use_reentrant=False))
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
