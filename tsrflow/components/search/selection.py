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
    action history only the best takes part. Every cut is recorded in ``rng``; it is *tied* where a prefix that differs
    from all kept ones was dropped although it ranks as high as the last one kept, so that chance decided.
    """

    def rank(node: Node) -> tuple[bool, float]:
        return node.valid, node.score if values is None else values[node.id]

    shuffled = [nodes[i] for i in rng.permutation(len(nodes))]
    ordered = sorted(shuffled, key=rank, reverse=True)  # stable: equal ranks stay in random order
    kept = (_without_duplicates(ordered) if unique else ordered)[:k]
    if len(nodes) > len(kept):
        known = {_prefix(node) for node in kept}
        tied = any(rank(node) == rank(kept[-1]) and _prefix(node) not in known for node in ordered)
        rng.record(Selection(tuple(n.id for n in nodes), tuple(n.id for n in kept), tied))
    return kept


def _prefix(node: Node) -> tuple[object, ...]:
    """What makes two prefixes the same for search."""
    return node.state_hash, node.history, node.done


def _without_duplicates(nodes: Sequence[Node]) -> list[Node]:
    first: dict[tuple[object, ...], Node] = {}
    for node in nodes:
        first.setdefault(_prefix(node), node)
    return list(first.values())
