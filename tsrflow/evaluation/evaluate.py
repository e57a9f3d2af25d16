"""Plays a panel without search and reports success with a confidence interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from tsrflow.rollout.collect import Collector
from tsrflow.types import StopReason, Task

Z95 = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Played:
    """One evaluated task."""

    task: str
    success: bool
    return_: float
    turns: int
    response_tokens: int
    error: bool


def play_panel(collector: Collector, tasks: Sequence[Task], temperature: float) -> list[Played]:
    """Play ``tasks`` once each, without search, at ``temperature`` (0 is greedy)."""
    results = []
    for search in collector.evaluate(tasks, temperature):
        (leaf,) = search.kept
        path = search.tree.path(leaf.id)
        results.append(
            Played(
                search.task.id,
                leaf.success,
                leaf.cumulative,
                leaf.depth,
                sum(node.num_sampled for node in path),
                leaf.stop is StopReason.ENV_ERROR,
            )
        )
    return results


def summarise(results: Sequence[Played]) -> dict[str, float]:
    """``eval/*`` scalars; a task lost to an environment error counts as no success, and is counted."""
    metrics = {
        "eval/success": fmean(r.success for r in results),
        "eval/return": fmean(r.return_ for r in results),
        "eval/turns": fmean(r.turns for r in results),
        "eval/response_tokens": fmean(r.response_tokens for r in results),
    }
    errors = sum(r.error for r in results)
    return metrics | ({"eval/env_errors": float(errors)} if errors else {})


def wilson(successes: int, n: int) -> tuple[float, float]:
    """95 % confidence interval of a proportion (Wilson 1927)."""
    if n == 0:
        return 0.0, 1.0
    share = successes / n
    centre = (share + Z95**2 / (2 * n)) / (1 + Z95**2 / n)
    half = Z95 * math.sqrt(share * (1 - share) / n + Z95**2 / (4 * n**2)) / (1 + Z95**2 / n)
    return max(0.0, centre - half), min(1.0, centre + half)
