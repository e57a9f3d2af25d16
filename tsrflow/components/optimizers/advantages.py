"""Advantages without a critic: relative to a group, to a state, to the rest of the batch.

B trajectories, T tokens, K turns. A set of equal numbers, up to float noise, has no spread: it gives exactly zero.
"""

from __future__ import annotations

import torch
from torch import Tensor

FLOAT_NOISE = 1e-6
"""Spread below which numbers count as equal, relative to the largest of them, absolute below 1."""


def group_advantages(
    returns: Tensor, group: Tensor, normalise: bool, min_std: float, weights: Tensor | None = None
) -> Tensor:
    """float [N]: value minus the mean of its group, over max(std, ``min_std``) where ``normalise`` (GRPO, DeepSeekMath
    section 4.1.2, with a floor under the population standard deviation). ``group`` int [N] is any labelling.

    ``weights`` float [N] (default 1) weigh mean and deviation. A group of equal values gives exactly zero; so does a
    group of one.
    """
    advantages = torch.zeros_like(returns)
    for index in sorted(set(group.tolist())):
        members = group == index
        values = returns[members]
        if equal(values):
            continue
        if weights is None:
            centred, std = values - values.mean(), values.std(unbiased=False)
        else:
            share = weights[members] / weights[members].sum()
            centred = values - (values * share).sum()
            std = (centred**2 * share).sum().sqrt()
        advantages[members] = centred / std.clamp(min=min_std) if normalise else centred
    return advantages


def leave_one_out(returns: Tensor, group: Tensor) -> Tensor:
    """float [B]: return minus the mean return of the *other* members of its group (RLOO, Ahmadian et al. 2024), which
    is G / (G - 1) times the distance from the mean of all G. A group of one gives zero."""
    centred = group_advantages(returns, group, False, 0.0)
    size = (group[:, None] == group[None, :]).sum(dim=1).to(returns.dtype)
    return centred * size / (size - 1).clamp(min=1)


def rewards_to_go(turn_rewards: Tensor, gamma: float) -> Tensor:
    """float [B, K]: sum over later turns k' >= k of gamma**(k' - k) times the reward of turn k'."""
    out = torch.zeros_like(turn_rewards)
    running = turn_rewards.new_zeros(len(turn_rewards))
    for turn in reversed(range(turn_rewards.shape[1])):
        running = turn_rewards[:, turn] + gamma * running
        out[:, turn] = running
    return out


def step_advantages(returns: Tensor, anchor: Tensor, weights: Tensor, normalise: bool, min_std: float) -> Tensor:
    """float [B, K]: return from each turn on relative to the other turns that were taken in the same state (GiGPO, Feng
    et al. 2025, step-level advantage); zero where no other turn was.

    ``anchor`` int [B, K] labels the state before a turn, -1 where there is none. ``weights`` float [B, K] are 1 over
    the number of kept leaves that share the turn: it counts once, with the mean of their returns.
    """
    live = (anchor >= 0) & (weights > 0)
    relative = group_advantages(returns[live], anchor[live], normalise, min_std, weights[live])
    return torch.zeros_like(returns).masked_scatter(live, relative)


def turn_values(per_turn: Tensor, turn_index: Tensor) -> Tensor:
    """float [B, T]: the figure [B, K] of the turn that each token belongs to, 0 where ``turn_index`` is -1."""
    return torch.where(turn_index >= 0, per_turn.gather(1, turn_index.clamp(min=0)), 0.0)


def turn_weights(weights: Tensor, turn_index: Tensor, turns: int) -> Tensor:
    """float [B, K]: the loss weight of the tokens [B, T] of each turn (all have the same), 0 for a turn without any."""
    out = weights.new_zeros(len(weights), turns + 1)  # the last column takes what belongs to no turn
    where = torch.where(turn_index >= 0, turn_index, turns)
    return out.scatter_reduce(1, where, weights, "amax")[:, :turns]


def overlong_penalty(lengths: Tensor, max_length: int, buffer: int) -> Tensor:
    """float64 [B], 0 to -1: DAPO's soft punishment (Yu et al. 2025, eq. 13). It falls linearly over the last ``buffer``
    sampled tokens before ``max_length`` and is -1 beyond; ``buffer`` 0 switches it off."""
    if buffer == 0:
        return torch.zeros(lengths.shape, dtype=torch.float64, device=lengths.device)
    return ((max_length - buffer - lengths).double() / buffer).clamp(-1.0, 0.0)


def whiten(values: Tensor, weights: Tensor, min_std: float) -> Tensor:
    """``values`` [B, T] shifted to weighted mean 0 and divided by max(weighted standard deviation, ``min_std``), over
    the tokens with ``weights`` > 0; zero elsewhere, and everywhere where they are equal up to float noise."""
    mask = weights > 0
    inside, share = values[mask], weights[mask]  # padding must not even change the order of additions
    if not len(inside) or equal(inside):
        return torch.zeros_like(values)
    share = share / share.sum()
    mean = (inside * share).sum()
    std = ((inside - mean) ** 2 * share).sum().sqrt()
    return torch.zeros_like(values).masked_scatter(mask, (inside - mean) / std.clamp(min=min_std))


def equal(values: Tensor) -> bool:
    """Whether ``values`` (at least one) differ by float noise at most."""
    return bool(values.max() - values.min() <= FLOAT_NOISE * values.abs().max().clamp(min=1.0))
