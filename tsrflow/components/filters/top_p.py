"""``filter=top_p``: keep the fewest groups that carry a share p of all uncertainty (RAGEN-2, linear top-p).

Groups are taken from the most uncertain one downwards until their standard deviations sum to p times the sum over all
groups, less ``eps``. For p = .6, eps = .01 and standard deviations .4 .3 .2 .1 the target is .59: two groups are kept.
How many that is follows from the step: few where a few groups hold nearly all the spread, all where they are alike.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tsrflow.components.filters.config import TopPConfig
from tsrflow.components.filters.spread import by_spread, spreads
from tsrflow.types import Group


class TopPFilter:
    """Admits groups until the target is reached; earlier groups at ties.

    ``p=1`` admits every group that may be kept; below 1, groups without spread are never reached. A step whose whole
    spread is at most ``eps / p`` admits none.
    """

    def __init__(self, config: TopPConfig) -> None:
        self.config = config

    def admit(self, groups: Sequence[Group]) -> list[bool]:
        stds = spreads(groups, self.config)
        ranked = by_spread(groups, stds, self.config.include_zero)
        kept = set(ranked if self.config.p == 1 else self._head(ranked, stds))
        return [i in kept for i in range(len(groups))]

    def _head(self, ranked: Sequence[int], stds: Sequence[float]) -> list[int]:
        total = math.fsum(stds)
        target = self.config.p * total - self.config.eps - 1e-9 * total  # sums of equals may differ in the last bit
        head: list[int] = []
        while math.fsum(stds[i] for i in head) < target:
            head.append(ranked[len(head)])
        return head

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None: ...
