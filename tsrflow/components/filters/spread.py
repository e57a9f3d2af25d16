"""The uncertainty of a group: standard deviation of a figure over its members (TSR, RAGEN eq. 7)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tsrflow.components.filters.config import SpreadConfig
from tsrflow.types import Group

FLOAT_NOISE = 1e-6
"""Spread below which figures count as equal, relative to the largest of them, absolute below 1."""


def spreads(groups: Sequence[Group], config: SpreadConfig) -> list[float]:
    """One population standard deviation per group, of its members that have a finite figure (a score may be -inf).

    Exactly 0 where they are equal up to float noise, or fewer than two.
    """
    return [_spread(group, config) for group in groups]


def _spread(group: Group, config: SpreadConfig) -> float:
    values = group.metric(config.metric).astype(np.float64)
    counted = np.isfinite(values)
    if config.members == "naive":
        counted &= np.array([not trajectory.searched for trajectory in group.trajectories], dtype=np.bool_)
    values = values[counted]
    if len(values) < 2 or np.ptp(values) <= FLOAT_NOISE * max(1.0, float(np.abs(values).max())):
        return 0.0
    return float(values.std())


def by_spread(groups: Sequence[Group], stds: Sequence[float], include_zero: bool) -> list[int]:
    """Indices of the groups that may be kept, most uncertain first; equals stay in the order of ``groups``.

    Without ``include_zero`` those without spread are left out; those without trajectories always are.
    """
    eligible = [i for i, group in enumerate(groups) if group.trajectories and (stds[i] > 0 or include_zero)]
    return sorted(eligible, key=lambda i: -stds[i])
