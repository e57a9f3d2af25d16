"""One forward pass of the policy over padded trajectories: log-probs, entropy and values at the sampled tokens.

The output head runs on sampled positions only and in chunks, so memory does not grow with vocabulary times all tokens.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from tsrflow.components.optimizers.logprobs import token_logprobs
from tsrflow.training.batch import TrainingBatch


@dataclass(frozen=True, slots=True)
class PassOutputs:
    """float [B, T] each, zero off the sampled tokens; ``values`` only with a critic; ``ref_logprobs`` only where asked
    for, of a reference that does not change."""

    logprobs: Tensor
    entropy: Tensor
    values: Tensor | None
    ref_logprobs: Tensor | None = None


class Critic(nn.Module):
    """A value for the prefix before each token: a linear head on the policy's hidden states, or on its own trunk."""

    def __init__(self, hidden_size: int, trunk: nn.Module | None = None) -> None:
        super().__init__()
        self.trunk = trunk
        self.head = nn.Linear(hidden_size, 1)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def forward(self, hidden: Tensor) -> Tensor:
        values: Tensor = self.head(hidden).squeeze(-1)
        return values


def policy_pass(model: Any, batch: TrainingBatch, temperature: float, critic: Critic | None = None) -> PassOutputs:
    """log p(token t | tokens < t) at ``temperature`` for every sampled token of ``batch``.

    The value aligned with token t is the critic's estimate of the state before t is sampled.
    """
    mask = torch.arange(batch.input_ids.shape[1], device=batch.input_ids.device)[None, :] < batch.lengths[:, None]
    hidden = _hidden(model.base_model, batch.input_ids, mask)
    rows, columns = batch.sampled.nonzero(as_tuple=True)  # never column 0: a prompt comes first
    before = hidden[rows, columns - 1]
    head = model.get_output_embeddings()
    ids = batch.input_ids[rows, columns]
    logprobs, entropy = token_logprobs(before, head.weight, head.bias, ids, temperature)
    values = None
    if critic is not None:
        if critic.trunk is not None:
            before = _hidden(critic.trunk, batch.input_ids, mask)[rows, columns - 1]
        values = _spread(critic(before), rows, columns, batch)
    return PassOutputs(_spread(logprobs, rows, columns, batch), _spread(entropy, rows, columns, batch), values)


def _hidden(trunk: Any, ids: Tensor, mask: Tensor) -> Tensor:
    """Last hidden states [B, T, H] of right-padded ``ids``."""
    output = trunk(input_ids=ids, attention_mask=mask.long(), use_cache=False)
    hidden: Tensor = output.last_hidden_state
    return hidden


def _spread(values: Tensor, rows: Tensor, columns: Tensor, batch: TrainingBatch) -> Tensor:
    full = torch.zeros(batch.input_ids.shape, dtype=torch.float32, device=values.device)
    return full.index_put((rows, columns), values.float())
