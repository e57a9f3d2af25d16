"""The uncertainty of a group: standard deviation of a figure over its members (TSR, RAGEN eq. 7)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tsrflow.components.filters.config import SpreadConfig
from tsrflow.types import Group

FLOAT_NOISE = 1e-6


def spreads(groups: Sequence[Group], config: SpreadConfig) -> list[float]:
    """One standard deviation per group; exactly 0 where members are equal up to float noise, or fewer than two."""
    return [_spread(group, config) for group in groups]


def _spread(group: Group, config: SpreadConfig) -> float:
    values = group.metric(config.metric).astype(np.float64)
    if config.members == "naive":
        values = values[[not trajectory.searched for trajectory in group.trajectories]]
    if len(values) < 2 or np.ptp(values) <= FLOAT_NOISE * max(1.0, float(np.abs(values).max())):
        return 0.0
    return float(values.std())


def by_spread(stds: Sequence[float], include_zero: bool) -> list[int]:
    """Indices of eligible groups, most uncertain first; equals keep their order."""
    eligible = [i for i, std in enumerate(stds) if std > 0 or include_zero]
    return sorted(eligible, key=lambda i: -stds[i])
