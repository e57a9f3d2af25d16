"""Strategies that ask for or return what the protocol does not allow are named."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import pytest

from tests.scripted import Bench
from tsrflow.errors import RunError
from tsrflow.protocols import Expand, SearchStream
from tsrflow.types import Node

Body = Callable[[Node, int, SearchStream], Generator[Expand, list[Node], Any]]


class Custom:
    """A strategy made of one generator function."""

    def __init__(self, body: Body) -> None:
        self.search = body

    def keep_of(self, searched: int, keep: int) -> int:
        return 1


def returns_nothing(root, keep, rng):  # type: ignore[no-untyped-def]
    yield Expand([root], 1)


def returns_no_leaf(root, keep, rng):  # type: ignore[no-untyped-def]
    yield Expand([root], 1)
    return []


def returns_too_many(root, keep, rng):  # type: ignore[no-untyped-def]
    return (yield Expand([root], 3))


def returns_twice(root, keep, rng):  # type: ignore[no-untyped-def]
    children = yield Expand([root], 1)
    return children * 2


def returns_a_live_node(root, keep, rng):  # type: ignore[no-untyped-def]
    yield Expand([root], 1)
    return [root]


def expands_nothing(root, keep, rng):  # type: ignore[no-untyped-def]
    yield Expand([], 1)


def expands_no_child(root, keep, rng):  # type: ignore[no-untyped-def]
    yield Expand([root], 0)


def expands_a_leaf(root, keep, rng):  # type: ignore[no-untyped-def]
    children = yield Expand([root], 1)
    yield Expand(children, 1)


@pytest.mark.parametrize(
    ("body", "keep", "message"),
    [
        (returns_nothing, 1, "returned None instead of a non-empty list of leaves"),
        (returns_no_leaf, 1, r"returned \[\] instead of a non-empty list of leaves"),
        (returns_too_many, 2, "returned 3 leaves, asked for 2"),
        (returns_twice, 2, "returned the same leaf twice"),
        (returns_a_live_node, 1, "returned node 0, which is not finished"),
        (expands_nothing, 1, "asked for 1 children of 0 nodes; both must be at least 1"),
        (expands_no_child, 1, "asked for 0 children of 1 nodes; both must be at least 1"),
        (expands_a_leaf, 1, "asked to continue node 1, which is finished"),
    ],
)
def test_a_strategy_that_breaks_the_protocol_is_named(body: Body, keep: int, message: str) -> None:
    with pytest.raises(RunError, match=f"search strategy Custom {message}"):
        Bench({}, max_turns=1).search(Custom(body), keep=keep)  # type: ignore[arg-type]


def test_a_finished_search_cannot_be_run_again() -> None:
    def once(root, keep, rng):  # type: ignore[no-untyped-def]
        return (yield Expand([root], 1))

    bench = Bench({}, max_turns=1)
    search = bench.search(Custom(once))  # type: ignore[arg-type]
    with pytest.raises(RunError, match="has not been started or is over already"):
        bench.engine.run([search])


def test_a_node_that_is_listed_several_times_is_continued_independently_with_one_prefill() -> None:
    def twice(root, keep, rng):  # type: ignore[no-untyped-def]
        children = yield Expand([root, root], 2)
        assert [child.parent for child in children] == [0] * 4
        return children[:1]

    bench = Bench({}, lambda prompt, seed: "<answer>a</answer>", max_turns=1, noise=0.5)
    search = bench.search(Custom(twice))  # type: ignore[arg-type]
    assert [len(request.seeds) for request in bench.generator.requests[0]] == [4]
    rewards = [node.reward for node in search.tree.nodes[1:]]
    assert rewards[0] == rewards[1] != rewards[2] == rewards[3]
    assert bench.engine.ledger.total.env_steps == 2


def test_children_come_grouped_by_parent_in_order() -> None:
    seen: list[list[int | None]] = []

    def wide(root, keep, rng):  # type: ignore[no-untyped-def]
        first = yield Expand([root], 2)
        second = yield Expand(first[::-1], 3)
        seen.append([child.parent for child in second])
        return second[:1]

    bench = Bench({}, max_turns=2)
    bench.search(Custom(wide))  # type: ignore[arg-type]
    assert seen == [[2, 2, 2, 1, 1, 1]]
