"""``search=beam``: keep the ``width`` best prefixes, expand each with ``candidates`` turns (TSR, per-turn Top-B).

Finished prefixes stay in the pool and compete with live ones; the search ends when every kept prefix is finished.
Prefixes with the same state and action history count once.
"""

from __future__ import annotations

from collections.abc import Generator

from tsrflow.components.search.config import BeamConfig
from tsrflow.components.search.selection import top_k
from tsrflow.protocols import Expand, SearchStream
from tsrflow.types import Node


class Beam:
    """B_{t+1} = Top_B of all children of B_t and the finished prefixes in it."""

    def __init__(self, config: BeamConfig) -> None:
        self.config = config

    def keep_of(self, searched: int, keep: int) -> int:
        return keep

    def search(self, root: Node, keep: int, rng: SearchStream) -> Generator[Expand, list[Node], list[Node]]:
        beam = [root]
        while live := [node for node in beam if not node.done]:
            children = yield Expand(live, self.config.candidates)
            finished = [node for node in beam if node.done]
            beam = top_k(finished + children, self.config.width, rng, unique=True)
        return top_k(beam, keep, rng)
