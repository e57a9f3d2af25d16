"""Plain float64 versions of the maths, one Python loop per definition; the tensor code is held against them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tsrflow.config.base import OptimizerConfig


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


class Mean:
    """Averages terms over a minibatch as ``optimizer.aggregation`` says, one trajectory after the other."""

    def __init__(self, config: OptimizerConfig) -> None:
        self._config = config
        self._rows: list[list[tuple[float, float]]] = []

    def add(self, terms: list[tuple[float, float]]) -> None:
        """(weight, term) of each token of a trajectory; a trajectory without any does not count."""
        if terms:
            self._rows.append(terms)

    @property
    def value(self) -> float:
        if not self._rows:
            return 0.0
        sums = [math.fsum(w * term for w, term in row) for row in self._rows]
        totals = [math.fsum(w for w, _ in row) for row in self._rows]
        if self._config.aggregation == "token":
            return math.fsum(sums) / math.fsum(totals)
        if self._config.aggregation == "sequence":
            return math.fsum(s / t for s, t in zip(sums, totals, strict=True)) / len(sums)
        return math.fsum(sums) / self._config.max_length / len(sums)


def leave_one_out(returns: Sequence[float], group: Sequence[int]) -> list[float]:
    """Return minus the mean of the others with the same label; 0 where there is none."""
    out = []
    for i, value in enumerate(returns):
        others = [r for j, r in enumerate(returns) if j != i and group[j] == group[i]]
        out.append(value - math.fsum(others) / len(others) if others else 0.0)
    return out


def bi_level_gae(
    rewards: Sequence[float],
    values: Sequence[Sequence[float]],
    gamma: float,
    lam: float,
    turn_gamma: float,
    turn_lam: float,
) -> list[list[float]]:
    """Per turn the advantages of its tokens: GAE over the turns' last tokens, which then stands at the end of GAE inside
    each turn. ``rewards`` are one per turn, ``values`` one per token of each turn."""
    of_turns = gae(rewards, [turn[-1] for turn in values], turn_gamma, turn_lam)
    out = []
    for advantage, turn in zip(of_turns, values, strict=True):
        inside = [advantage]
        for here, after in zip(turn[-2::-1], turn[:0:-1], strict=True):
            inside.insert(0, gamma * after - here + gamma * lam * inside[0])
        out.append(inside)
    return out


def gigpo(
    rewards: Sequence[Sequence[float]],
    states: Sequence[Sequence[int]],
    group: Sequence[int],
    gamma: float,
    omega: float,
    normalise: bool,
    min_std: float,
) -> list[list[float]]:
    """Per trajectory and turn: the trajectory's advantage plus omega times the turn's among equal states."""
    episodes = group_advantages([math.fsum(r) for r in rewards], group, normalise, min_std)
    turns = [(b, k) for b, row in enumerate(rewards) for k in range(len(row))]
    to_go = [math.fsum(gamma ** (j - k) * rewards[b][j] for j in range(k, len(rewards[b]))) for b, k in turns]
    steps = group_advantages(to_go, [states[b][k] for b, k in turns], normalise, min_std)
    out: list[list[float]] = [[] for _ in rewards]
    for (b, _), step in zip(turns, steps, strict=True):
        out[b].append(episodes[b] + omega * step)
    return out


def normalised(values: Sequence[float], weights: Sequence[float], min_std: float) -> list[float]:
    """Weighted mean 0 and floored weighted standard deviation 1."""
    total = math.fsum(weights)
    mean = math.fsum(w * v for w, v in zip(weights, values, strict=True)) / total
    std = math.sqrt(math.fsum(w * (v - mean) ** 2 for w, v in zip(weights, values, strict=True)) / total)
    return [(v - mean) / max(std, min_std) for v in values]
