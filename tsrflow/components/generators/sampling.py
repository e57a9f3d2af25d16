"""Counter-based sampling: token ``t`` of a sequence is a function of its seed, ``t`` and its distribution only.

The uniform draw comes from hashing (seed, t) and is inverted through the cumulative distribution, so a sequence does
not care which batch it is sampled in.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


def uniforms(seeds: NDArray[np.uint64], counter: int) -> NDArray[np.float64]:
    """float64 [N] in [0, 1): one draw per seed for position ``counter``."""
    with np.errstate(over="ignore"):
        mixed = _mix(_mix(seeds) ^ _mix(np.full_like(seeds, counter)))
    return (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def sample(logits: Tensor, temperature: float, uniform: NDArray[np.float64]) -> tuple[Tensor, Tensor]:
    """Token ids int64 [N] and their log-probs [N] from ``logits`` [N, V] at ``temperature``.

    Temperature 0 takes the most likely token (the lowest id among equals) and reports its log-prob at temperature 1.
    """
    logits = logits if logits.dtype == torch.float64 else logits.float()
    if temperature == 0:
        ids = logits.argmax(-1)
        return ids, torch.log_softmax(logits, -1).gather(-1, ids[:, None]).squeeze(-1)
    logprobs = torch.log_softmax(logits / temperature, -1)
    cumulative = logprobs.double().exp().cumsum(-1)
    target = torch.from_numpy(uniform).to(cumulative.device)[:, None] * cumulative[:, -1:]
    ids = torch.searchsorted(cumulative, target, right=True).squeeze(-1)
    ids = ids.clamp_(max=logits.shape[-1] - 1)
    return ids, logprobs.gather(-1, ids[:, None]).squeeze(-1)
