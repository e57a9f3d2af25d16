"""``filter=reward_std``: keep the top fraction of groups by standard deviation (TSR Algorithm 1, StarPO-S)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tsrflow.components.filters.config import RewardStdConfig
from tsrflow.components.filters.spread import by_spread, spreads
from tsrflow.types import Group


class RewardStdFilter:
    """Admits the ceil(fraction * P) most uncertain of P groups, fewer where fewer may be kept; earlier ones at ties."""

    def __init__(self, config: RewardStdConfig) -> None:
        self.config = config

    def admit(self, groups: Sequence[Group]) -> list[bool]:
        ranked = by_spread(groups, spreads(groups, self.config), self.config.include_zero)
        most = math.ceil(self.config.fraction * len(groups) - 1e-9)  # .1 * 30 is 3, not 3.0000000000000004
        kept = set(ranked[:most])
        return [i in kept for i in range(len(groups))]

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None: ...
