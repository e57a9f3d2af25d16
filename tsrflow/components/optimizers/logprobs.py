"""Log-probs and entropy of sampled tokens at the sampling temperature, without ever holding all logits.

N sampled tokens, H hidden size, V vocabulary.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

LOGITS_AT_ONCE = 2**25
"""Logits that exist at the same time: 128 MiB in float32, a few times that with their temporaries."""


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
