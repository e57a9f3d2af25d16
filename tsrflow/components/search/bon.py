"""``search=bon``: best of N complete rollouts (TSR, trajectory-level selection).

``scope: trajectory`` keeps the best ``rollout.keep`` of ``n`` rollouts of one search. ``scope: group`` is the variant
of the published code: one search rolls out ``n`` times as many trajectories as the group wants and keeps the best.
"""

from __future__ import annotations

from collections.abc import Generator

from tsrflow.components.search.config import BestOfNConfig
from tsrflow.components.search.selection import top_k
from tsrflow.protocols import Expand, SearchStream
from tsrflow.types import Node


class BestOfN:
    """Selects only at the end, by the score of the finished prefix."""

    def __init__(self, config: BestOfNConfig) -> None:
        self.config = config

    def keep_of(self, searched: int, keep: int) -> int:
        return searched if self.config.scope == "group" else keep

    def search(self, root: Node, keep: int, rng: SearchStream) -> Generator[Expand, list[Node], list[Node]]:
        rollouts = self.config.n * keep if self.config.scope == "group" else self.config.n
        frontier = [root] if root.done else [root] * rollouts  # listed so often: independent continuations
        while live := [node for node in frontier if not node.done]:
            children = yield Expand(live, 1)
            frontier = [node for node in frontier if node.done] + children
        return top_k(frontier, keep, rng)
