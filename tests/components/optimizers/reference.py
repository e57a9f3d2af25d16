"""Plain float64 versions of the maths, one Python loop per definition; the tensor code is held against them."""

from __future__ import annotations

import math
from collections.abc import Sequence


def gae(rewards: Sequence[float], values: Sequence[float], gamma: float, lam: float) -> list[float]:
    """Sum over l of (gamma lam)^l delta_{t+l}, written as the double sum of the definition."""
    after = [*values, 0.0]
    deltas = [reward + gamma * after[t + 1] - values[t] for t, reward in enumerate(rewards)]
    return [
        math.fsum((gamma * lam) ** (later - t) * deltas[later] for later in range(t, len(deltas)))
        for t in range(len(deltas))
    ]


def group_advantages(returns: Sequence[float], group: Sequence[int], normalise: bool, min_std: float) -> list[float]:
    """Return minus group mean, over the floored population standard deviation."""
    out = []
    for value, label in zip(returns, group, strict=True):
        members = [r for r, other in zip(returns, group, strict=True) if other == label]
        mean = math.fsum(members) / len(members)
        std = math.sqrt(math.fsum((m - mean) ** 2 for m in members) / len(members))
        out.append((value - mean) / (max(std, min_std) if normalise else 1.0))
    return out


def surrogate(new: float, old: float, advantage: float, low: float, high: float) -> float:
    """PPO's loss of one token."""
    ratio = math.exp(new - old)
    return -min(ratio * advantage, min(max(ratio, 1 - low), 1 + high) * advantage)


def k3(new: float, ref: float) -> float:
    """exp(x) - x - 1 of the log-ratio x = ref - new."""
    return math.exp(ref - new) - (ref - new) - 1.0


def value_loss(value: float, old: float, target: float, clip: float | None) -> float:
    """Half the squared error, the worse of the free and the clipped value."""
    errors = [(value - target) ** 2]
    if clip is not None:
        errors.append((old + min(max(value - old, -clip), clip) - target) ** 2)
    return 0.5 * max(errors)


def softmax_logprob(logits: Sequence[float], index: int, temperature: float) -> float:
    """log softmax(logits / temperature) at ``index``."""
    scaled = [x / temperature for x in logits]
    top = max(scaled)
    return scaled[index] - top - math.log(math.fsum(math.exp(x - top) for x in scaled))


def entropy(logits: Sequence[float], temperature: float) -> float:
    """Entropy of softmax(logits / temperature)."""
    logs = [softmax_logprob(logits, i, temperature) for i in range(len(logits))]
    return -math.fsum(math.exp(x) * x for x in logs)
