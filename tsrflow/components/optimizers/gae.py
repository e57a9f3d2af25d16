"""Where rewards are placed, and GAE over sampled tokens. B trajectories, T tokens, K turns.

Sampled tokens are moved together first, so a token's successor is the next *sampled* one: observation tokens neither
decay nor leak anything, whatever stands in rewards or values there.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor


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
    """Advantages and returns, float [B, T] each, 0 off the sampled tokens (GAE, Schulman et al. 2016, eq. 16)."""
    return _backwards(rewards, values, sampled, None, gamma, lam, gamma, lam)


def bi_level_gae(
    rewards: Tensor,
    values: Tensor,
    turn_index: Tensor,
    gamma: float,
    lam: float,
    turn_gamma: float,
    turn_lam: float,
) -> tuple[Tensor, Tensor]:
    """Advantages and returns, float [B, T] each, 0 where ``turn_index`` is -1 (bi-level GAE, VAGEN, Wang et al. 2025).

    First GAE over turns: rewards and values at the last token of each turn, discounted by ``turn_gamma`` and
    ``turn_lam``. Then GAE inside each turn with ``gamma`` and ``lam``, where the advantage of the turn's last token is
    that of the turn. With all four at 1 this is token-level GAE.
    """
    return _backwards(rewards, values, turn_index >= 0, turn_index, gamma, lam, turn_gamma, turn_lam)


def _backwards(
    rewards: Tensor,
    values: Tensor,
    sampled: Tensor,
    turn_index: Tensor | None,
    gamma: float,
    lam: float,
    turn_gamma: float,
    turn_lam: float,
) -> tuple[Tensor, Tensor]:
    """One pass from the last token to the first; without ``turn_index`` no token closes a turn."""
    order = torch.argsort((~sampled).int(), dim=1, stable=True)  # sampled tokens first, in order
    width = int(sampled.sum(dim=1).max()) if sampled.numel() else 0
    packed = order[:, :width]
    live = sampled.gather(1, packed)
    reward = torch.where(live, rewards.gather(1, packed), 0.0)
    value = torch.where(live, values.to(rewards.dtype).gather(1, packed), 0.0)
    closes = torch.zeros_like(live)
    if turn_index is not None and width:
        turn = torch.where(live, turn_index.gather(1, packed), -1)
        after = torch.cat([turn[:, 1:], torch.full_like(turn[:, :1], -1)], dim=1)
        closes = live & (turn != after)
    advantage = torch.zeros_like(value)
    running, following = value.new_zeros(len(value)), value.new_zeros(len(value))
    turn_running, turn_following = value.new_zeros(len(value)), value.new_zeros(len(value))
    for t in reversed(range(width)):
        here, end = live[:, t], closes[:, t]
        of_turn = reward[:, t] + turn_gamma * turn_following - value[:, t] + turn_gamma * turn_lam * turn_running
        of_token = reward[:, t] + gamma * following - value[:, t] + gamma * lam * running
        running = torch.where(here, torch.where(end, of_turn, of_token), 0.0)
        following = torch.where(here, value[:, t], 0.0)
        turn_running = torch.where(end, of_turn, turn_running)
        turn_following = torch.where(end, value[:, t], turn_following)
        advantage[:, t] = running
    advantages = torch.zeros_like(rewards).scatter(1, packed, torch.where(live, advantage, 0.0))
    returns = torch.zeros_like(rewards).scatter(1, packed, torch.where(live, advantage + value, 0.0))
    return advantages, returns
