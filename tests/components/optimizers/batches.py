"""Small batches of trajectories for the tests of the objectives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from tsrflow.components.optimizers.aggregation import normaliser
from tsrflow.components.optimizers.types import AdvantageInputs, LossInputs
from tsrflow.config.base import OptimizerConfig
from tsrflow.registry import registry

OBJECTIVES = sorted(registry().names("optimizer"))
AGGREGATIONS = ("token", "sequence", "constant")
Layout = Sequence[tuple[int, int]]
"""Per turn: sampled tokens, then observation tokens."""


def laid_out(layouts: Sequence[Layout], prompt: int = 2) -> tuple[Tensor, Tensor]:
    """``sampled`` bool [B, T] and ``turn_index`` int [B, T] for one layout per trajectory."""
    rows = []
    for layout in layouts:
        row = [-1] * prompt
        for turn, (sampled, observed) in enumerate(layout):
            row += [turn] * sampled + [-1] * observed
        rows.append(row)
    width = max(len(row) for row in rows)
    turn_index = torch.tensor([row + [-1] * (width - len(row)) for row in rows])
    return turn_index >= 0, turn_index


def advantage_inputs(
    layouts: Sequence[Layout],
    rewards: Sequence[Sequence[float]],
    *,
    group: Sequence[int] | None = None,
    values: Tensor | None = None,
    weights: Tensor | None = None,
    anchor: Sequence[Sequence[int]] | None = None,
    logprobs: tuple[Tensor, Tensor] | None = None,
    dtype: torch.dtype = torch.float64,
) -> AdvantageInputs:
    """Inputs with turn rewards padded by zeros; weights default to 1 on sampled tokens, states to all different except
    for the first of each group; ``logprobs`` are those of policy and reference."""
    group = list(group if group is not None else [0] * len(rewards))
    if anchor is None:
        anchor = [[group[b] if k == 0 else 100 + 10 * b + k for k in range(len(r))] for b, r in enumerate(rewards)]
    sampled, turn_index = laid_out(layouts)
    turns = max(len(r) for r in rewards)
    return AdvantageInputs(
        sampled=sampled,
        turn_index=turn_index,
        weights=sampled.to(dtype) if weights is None else weights,
        turn_rewards=torch.tensor([[*r, *[0.0] * (turns - len(r))] for r in rewards], dtype=dtype),
        num_turns=torch.tensor([len(r) for r in rewards]),
        group=torch.tensor(group),
        searched=torch.zeros(len(rewards), dtype=torch.bool),
        values=values,
        anchor=torch.tensor([[*a, *[-1] * (turns - len(a))] for a in anchor]),
        old_logprobs=None if logprobs is None else logprobs[0],
        ref_logprobs=None if logprobs is None else logprobs[1],
    )


def objective(name: str, **changes: Any) -> Any:
    """The built-in objective ``name``."""
    spec = registry().get("optimizer", name)
    return spec.build(spec.config(name=name, **changes))


def normalised(inputs: LossInputs, config: OptimizerConfig) -> LossInputs:
    """``inputs`` as a whole minibatch under ``config``."""
    scale = normaliser(inputs.weights, config.aggregation, config.max_length)
    other = inputs.critic_weights
    critic = None if other is None else normaliser(other, config.aggregation, config.max_length)
    return replace(inputs, normaliser=scale, critic_normaliser=critic)


def loss_inputs(
    seed: int, batch: int = 8, length: int = 7, *, critic: bool = False, reference: bool = False, dropped: int = 0
) -> LossInputs:
    """Random float64 inputs: uneven lengths, some tokens shared by two or three leaves; ``normaliser`` left at 1. The
    last ``dropped`` trajectories are the critic's alone."""
    rng = torch.Generator().manual_seed(seed)

    def draw(scale: float = 1.0) -> Tensor:
        return scale * torch.randn(batch, length, generator=rng, dtype=torch.float64)

    sampled = torch.rand(batch, length, generator=rng) < 0.7
    sampled[:, -1] = True
    shared = torch.randint(1, 4, (batch, length), generator=rng).to(torch.float64)
    old = -draw().abs()
    kept = (torch.arange(batch) < batch - dropped)[:, None]
    return LossInputs(
        logprobs=old + draw(0.3),
        old_logprobs=old,
        entropy=draw().abs(),
        advantages=draw() * sampled,
        weights=kept * sampled / shared,
        normaliser=torch.ones((), dtype=torch.float64),
        values=draw() if critic else None,
        old_values=draw() if critic else None,
        returns=draw() if critic else None,
        ref_logprobs=old + draw(0.3) if reference else None,
        critic_weights=sampled / shared if dropped else None,
    )


def rows(inputs: LossInputs, index: Sequence[int]) -> LossInputs:
    """The trajectories at ``index`` as a microbatch with the same normaliser."""
    names = [n for n in LossInputs.__slots__ if not n.endswith("normaliser") and getattr(inputs, n) is not None]
    return replace(inputs, **{name: getattr(inputs, name)[list(index)] for name in names})
