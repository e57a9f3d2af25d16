"""``search=lookahead``: before committing to a turn, look ``depth`` turns ahead (TSR, shallow lookahead).

Each of ``candidates`` turns is followed by a subtree with ``branch`` continuations per node down to ``depth`` turns
(the candidate itself is the first). A candidate's value is the best score among the leaves of its subtree; where the
dynamics are random it is the mean over the continuations of every node, since a maximum would reward luck. One turn is
committed, then the search plans anew from there with fresh candidates.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence

from tsrflow.components.search.config import LookaheadConfig
from tsrflow.components.search.selection import top_k
from tsrflow.protocols import Expand, SearchStream
from tsrflow.types import Node, StopReason


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
            candidates = reached = yield Expand([node], self.config.candidates)
            below: dict[int, list[Node]] = {}
            for _ in range(self.config.depth - 1):
                live = [leaf for leaf in reached if not leaf.done]
                if not live:
                    break
                reached = yield Expand(live, self.config.branch)
                for child in reached:
                    below.setdefault(child.parent or 0, []).append(child)
            values = {c.id: self._value(c, below) for c in candidates}
            (node,) = top_k(candidates, 1, rng, values=values)
        return [node]

    def _value(self, node: Node, below: Mapping[int, Sequence[Node]]) -> float:
        """Backed up from the leaves; continuations lost to an environment error say nothing."""
        usable = [child for child in below.get(node.id, ()) if child.stop is not StopReason.ENV_ERROR]
        return self._aggregate([self._value(child, below) for child in usable]) if usable else node.score


def _mean(scores: list[float]) -> float:
    return sum(scores) / len(scores)
