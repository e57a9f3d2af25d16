"""``search=naive``: one linear rollout, the baseline without search."""

from __future__ import annotations

from collections.abc import Generator

from tsrflow.components.search.config import NaiveConfig
from tsrflow.protocols import Expand, SearchStream
from tsrflow.types import Node


class Naive:
    """Samples turn after turn until the episode ends."""

    def __init__(self, config: NaiveConfig) -> None:
        self.config = config

    def keep_of(self, searched: int, keep: int) -> int:
        return 1

    def search(self, root: Node, keep: int, rng: SearchStream) -> Generator[Expand, list[Node], list[Node]]:
        node = root
        while not node.done:
            (node,) = yield Expand([node], 1)
        return [node]
