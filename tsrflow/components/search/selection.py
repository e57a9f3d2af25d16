"""The one way strategies choose among prefixes: by score, invalid ones last, ties by the search's own random stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tsrflow.protocols import SearchStream
from tsrflow.types import Node, Selection


def top_k(
    nodes: Sequence[Node],
    k: int,
    rng: SearchStream,
    *,
    values: Mapping[int, float] | None = None,
    unique: bool = False,
) -> list[Node]:
    """The ``k`` best of ``nodes``, best first; fewer where fewer exist.

    ``values`` (by node id) replaces the nodes' own scores. With ``unique``, of several prefixes with the same state and
    action history only the first takes part. Every cut is recorded in ``rng``; it is *tied* where the last one kept and
    the first one dropped rank equal, so that chance decided.
    """
    pool = _without_duplicates(nodes) if unique else list(nodes)

    def rank(node: Node) -> tuple[bool, float]:
        return node.valid, node.score if values is None else values[node.id]

    shuffled = [pool[i] for i in rng.permutation(len(pool))]
    ordered = sorted(shuffled, key=rank, reverse=True)  # stable: equal ranks stay in random order
    kept = ordered[:k]
    if len(ordered) > k:
        tied = rank(ordered[k - 1]) == rank(ordered[k])
        rng.record(Selection(tuple(n.id for n in nodes), tuple(n.id for n in kept), tied))
    return kept


def _without_duplicates(nodes: Sequence[Node]) -> list[Node]:
    seen: dict[tuple[object, ...], Node] = {}
    for node in nodes:
        seen.setdefault((node.state_hash, node.history, node.done), node)
    return list(seen.values())
