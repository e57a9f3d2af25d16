"""``search=lookahead``: before committing to a turn, look ``depth`` turns ahead (TSR, shallow lookahead).

Each of ``candidates`` turns is followed by a subtree with ``branch`` continuations per node down to ``depth`` turns
(the candidate itself is the first). A candidate's value is the best score among the leaves of its subtree; where the
dynamics are random it is their mean, since a maximum would reward luck. One turn is committed, then the search plans
anew from there with fresh candidates.
"""

from __future__ import annotations

from collections.abc import Generator

from tsrflow.components.search.config import LookaheadConfig
from tsrflow.components.search.selection import top_k
from tsrflow.protocols import Expand, SearchStream
from tsrflow.types import Node


class Lookahead:
    """Receding horizon: plan ``depth`` turns, commit one."""

    def __init__(self, config: LookaheadConfig, stochastic: bool = False) -> None:
        self.config = config
        mean = stochastic if config.aggregate == "auto" else config.aggregate == "mean"
        self._aggregate = _mean if mean else max

    def keep_of(self, searched: int, keep: int) -> int:
        return 1

    def search(self, root: Node, keep: int, rng: SearchStream) -> Generator[Expand, list[Node], list[Node]]:
        node = root
        while not node.done:
            candidates = yield Expand([node], self.config.candidates)
            owner = {c.id: c.id for c in candidates}
            leaves = list(candidates)
            for _ in range(self.config.depth - 1):
                live = [leaf for leaf in leaves if not leaf.done]
                if not live:
                    break
                deeper = yield Expand(live, self.config.branch)
                owner |= {d.id: owner[d.parent] for d in deeper if d.parent is not None}
                leaves = [leaf for leaf in leaves if leaf.done] + deeper
            reached = {c.id: [leaf.score for leaf in leaves if owner[leaf.id] == c.id] for c in candidates}
            values = {c: self._aggregate(scores) for c, scores in reached.items()}
            (node,) = top_k(candidates, 1, rng, values=values)
        return [node]


def _mean(scores: list[float]) -> float:
    return sum(scores) / len(scores)
