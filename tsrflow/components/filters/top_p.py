"""``filter=top_p``: keep the fewest groups that carry a share p of all uncertainty (RAGEN-2, linear top-p)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tsrflow.components.filters.config import TopPConfig
from tsrflow.components.filters.spread import by_spread, spreads
from tsrflow.types import Group


class TopPFilter:
    """Admits groups, most uncertain first, until their standard deviations sum to p times the total (minus eps)."""

    def __init__(self, config: TopPConfig) -> None:
        self.config = config

    def admit(self, groups: Sequence[Group]) -> list[bool]:
        stds = spreads(groups, self.config)
        target = self.config.p * sum(stds) - self.config.eps
        kept: set[int] = set()
        carried = 0.0
        for index in by_spread(stds, self.config.include_zero):
            if kept and carried >= target:
                break
            kept.add(index)
            carried += stds[index]
        return [i in kept for i in range(len(groups))]

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None: ...
