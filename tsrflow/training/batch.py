"""Trajectories as padded tensors. One mask object per batch: everything that is trained on is ``sampled``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import torch
from torch import Tensor

from tsrflow.types import Trajectory


@dataclass(frozen=True, slots=True)
class TrainingBatch:
    """Axes: B trajectories, T tokens (right-padded), K turns. Per-token tensors are aligned with the token itself.

    ``input_ids`` int64 [B, T]; ``lengths`` int64 [B]; ``sampled`` bool [B, T]; ``turn_index`` int64 [B, T] (-1 off);
    ``weights`` float32 [B, T]; ``critic_weights`` float32 [B, T]; ``behaviour_logprobs`` float32 [B, T];
    ``turn_rewards`` float32 [B, K]; ``num_turns`` int64 [B]; ``group`` int64 [B]; ``searched`` bool [B]; ``anchor``
    int64 [B, K] numbers the state before each turn, equal where one group met equal states (-1 beyond ``num_turns``).

    ``weights`` are 0 on all of a trajectory that only the critic trains on; ``critic_weights`` are not.
    """

    input_ids: Tensor
    lengths: Tensor
    sampled: Tensor
    turn_index: Tensor
    weights: Tensor
    critic_weights: Tensor
    behaviour_logprobs: Tensor
    turn_rewards: Tensor
    num_turns: Tensor
    group: Tensor
    searched: Tensor
    anchor: Tensor

    def __len__(self) -> int:
        return len(self.lengths)

    def rows(self, index: Tensor) -> TrainingBatch:
        """The trajectories at ``index``, cut to the longest of them."""
        lengths = self.lengths[index]
        width = int(lengths.max()) if len(lengths) else 0
        per_token = ("input_ids", "sampled", "turn_index", "weights", "critic_weights", "behaviour_logprobs")
        picked = {f.name: getattr(self, f.name)[index] for f in fields(self)}
        return TrainingBatch(**{k: v[:, :width] if k in per_token else v for k, v in picked.items()})

    def to(self, device: torch.device) -> TrainingBatch:
        """The same batch on ``device``."""
        return TrainingBatch(**{f.name: getattr(self, f.name).to(device) for f in fields(self)})


def collate(kept: Sequence[Trajectory], dropped: Sequence[Trajectory] = ()) -> TrainingBatch:
    """Pad trajectories (at least one kept) to one batch; padding follows from lengths, never from a pad id.

    Rows of ``dropped``, which only the critic trains on, follow those of ``kept``.
    """
    trajectories = [*kept, *dropped]
    width = max(len(t.token_ids) for t in trajectories)
    turns = max(len(t.turn_rewards) for t in trajectories)

    def padded(name: str, size: int, fill: float, dtype: torch.dtype) -> Tensor:
        out = np.full((len(trajectories), size), fill, dtype=np.float64 if dtype.is_floating_point else np.int64)
        for row, trajectory in enumerate(trajectories):
            values = getattr(trajectory, name)
            out[row, : len(values)] = values
        return torch.from_numpy(out).to(dtype)

    critic_weights = padded("weights", width, 0.0, torch.float32)
    for_policy = torch.arange(len(trajectories)) < len(kept)
    return TrainingBatch(
        input_ids=padded("token_ids", width, 0, torch.long),
        lengths=torch.tensor([len(t.token_ids) for t in trajectories]),
        sampled=padded("sampled", width, 0, torch.bool),
        turn_index=padded("turn_index", width, -1, torch.long),
        weights=torch.where(for_policy[:, None], critic_weights, 0.0),
        critic_weights=critic_weights,
        behaviour_logprobs=padded("logprobs", width, 0.0, torch.float32),
        turn_rewards=padded("turn_rewards", turns, 0.0, torch.float32),
        num_turns=torch.tensor([len(t.turn_rewards) for t in trajectories]),
        group=torch.tensor([t.group for t in trajectories]),
        searched=torch.tensor([t.searched for t in trajectories]),
        anchor=_anchors(trajectories, turns),
    )


def _anchors(trajectories: Sequence[Trajectory], turns: int) -> Tensor:
    """int64 [B, K]: one number per distinct (group, state hash) before a turn, in order of appearance; -1 beyond."""
    known: dict[tuple[int, str], int] = {}
    anchors = torch.full((len(trajectories), turns), -1)
    for row, trajectory in enumerate(trajectories):
        for turn, node in enumerate(trajectory.path[:-1]):
            anchors[row, turn] = known.setdefault((trajectory.group, node.state_hash), len(known))
    return anchors
