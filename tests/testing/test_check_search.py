"""Every rule of the strategy contract, broken on purpose by a small strategy."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tsrflow.components.search.beam import Beam
from tsrflow.components.search.bon import BestOfN
from tsrflow.components.search.config import BeamConfig, BestOfNConfig, LookaheadConfig, NaiveConfig
from tsrflow.components.search.lookahead import Lookahead
from tsrflow.components.search.naive import Naive
from tsrflow.protocols import Expand, SearchStrategy
from tsrflow.testing import ContractError, check_search
from tsrflow.testing.imagined import World, imagined_group
from tsrflow.types import Selection


@pytest.mark.parametrize(
    ("strategy", "keep"),
    [
        (Naive(NaiveConfig()), 1),
        (BestOfN(BestOfNConfig(n=4)), 4),
        (BestOfN(BestOfNConfig(n=2, scope="group")), 3),
        (Beam(BeamConfig(width=3, candidates=4)), 3),
        (Beam(BeamConfig(width=1, candidates=1)), 1),
        (Lookahead(LookaheadConfig(candidates=3, depth=3, branch=2), stochastic=True), 1),
    ],
)
def test_built_in_strategies_keep_the_contract(strategy: SearchStrategy, keep: int) -> None:
    check_search(strategy, keep=keep)


class Custom:
    """A greedy strategy of which a test replaces one part."""

    def __init__(self, body: Callable[..., Any] | None = None, keep_of: Any = lambda searched, keep: keep) -> None:
        self.search = body or greedy
        self.keep_of = keep_of


def greedy(root, keep, rng):  # type: ignore[no-untyped-def]
    done, live = ([root], []) if root.done else ([], [root])
    while live:
        children = yield Expand(live, keep)
        done += [child for child in children if child.done]
        live = sorted((c for c in children if not c.done), key=lambda c: c.score)[-keep:]
    return sorted(done, key=lambda leaf: (leaf.valid, leaf.score), reverse=True)[:keep]


def test_the_strategy_that_the_others_spoil_is_fine() -> None:
    check_search(Custom(), keep=3)


def spoiled(change: Callable[..., Any]) -> Callable[..., Any]:
    """Greedy search with ``change(leaves, root)`` as what it returns."""

    def body(root, keep, rng):  # type: ignore[no-untyped-def]
        return change((yield from greedy(root, keep, rng)), root)

    return body


def asking(request: Callable[..., Any]) -> Callable[..., Any]:
    """A search that starts with ``request(root, children of the root)``."""

    def body(root, keep, rng):  # type: ignore[no-untyped-def]
        if root.done:
            return [root]
        children = yield Expand([root], 6)
        yield request(root, children)

    return body


def endless(root, keep, rng):  # type: ignore[no-untyped-def]
    if root.done:
        return [root]
    while True:
        yield Expand([root], 1)


def by_global_chance(root, keep, rng):  # type: ignore[no-untyped-def]
    leaves = yield from greedy(root, 4, rng)
    best = [leaf for leaf in leaves if (leaf.valid, leaf.score) == (leaves[0].valid, leaves[0].score)]
    return [random.choice(best)]


def by_numpy_chance(root, keep, rng):  # type: ignore[no-untyped-def]
    if not root.done:
        yield Expand([root], int(np.random.randint(1, 5)))
    return (yield from greedy(root, keep, rng))


class Sharing:
    """Keeps the beam on the object instead of inside the search."""

    def keep_of(self, searched: int, keep: int) -> int:
        return 1

    def search(self, root, keep, rng):  # type: ignore[no-untyped-def]
        self.done = [root] if root.done else []
        live = [] if root.done else [root]
        while live:
            children = yield Expand(live, 2)
            self.done += [child for child in children if child.done]
            live = [child for child in children if not child.done][:1]
        return sorted(self.done, key=lambda leaf: (leaf.valid, leaf.score), reverse=True)[:1]


def records_nonsense(root, keep, rng):  # type: ignore[no-untyped-def]
    rng.record(Selection((1, 2), (3,), False))
    return (yield from greedy(root, keep, rng))


def ignores_dead_roots(root, keep, rng):  # type: ignore[no-untyped-def]
    yield Expand([root], 1)


def not_a_generator(root, keep, rng):  # type: ignore[no-untyped-def]
    return [root]


def returns_live(root, keep, rng):  # type: ignore[no-untyped-def]
    if root.done:
        return [root]
    return (yield Expand([root], 1))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (not_a_generator, r"search\(\) returned list, not a generator"),
        (ignores_dead_roots, "asked to continue node 0, which is done"),
        (spoiled(lambda leaves, root: []), r"must return the root and ask for nothing"),
        (
            spoiled(lambda leaves, root: leaves if root.done else None),
            r"search\(\) returned None .* must return leaves",
        ),
        (spoiled(lambda leaves, root: leaves if root.done else ["x"]), "must return a list of nodes"),
        (returns_live, "returned node 1 .*, which is not done"),
        (spoiled(lambda leaves, root: leaves if root.done else [replace(leaves[0])]), "which is not of this search"),
        (spoiled(lambda leaves, root: leaves if root.done else leaves * 2), r"returned \d leaves in imagined world"),
        (spoiled(lambda leaves, root: leaves[:1] * len(leaves)), "returned a leaf twice"),
        (spoiled(lambda leaves, root: leaves[::-1]), r"leaves are not best first .*\(valid, score\)"),
        (spoiled(lambda leaves, root: leaves[:1]), r"returned 1 leaves for keep=2 although every turn was valid"),
        (records_nonsense, "recorded a selection .* no candidates"),
        (asking(lambda root, children: [root]), r"yielded \[.*; it must yield Expand\(nodes, n\)"),
        (asking(lambda root, children: Expand([], 1)), "asked for children of no node"),
        (asking(lambda root, children: Expand([root], 0)), "asked for 0 children per node"),
        (asking(lambda root, children: Expand([replace(root)], 1)), "not one it was given in this search"),
        (asking(lambda root, children: Expand([replace(root, id=99)], 1)), "node 99, which is not one it was given"),
        (endless, "a search did not end after 1000 requests"),
        (by_numpy_chance, r"all chance must come from the rng that search\(\) is given"),
    ],
)
def test_each_broken_rule_has_its_message(body: Callable[..., Any], message: str) -> None:
    with pytest.raises(ContractError, match=f"Custom: .*{message}"):
        check_search(Custom(body), keep=2)


def test_chance_from_outside_is_caught() -> None:
    with pytest.raises(ContractError, match="all chance must come from the rng"):
        check_search(Custom(by_global_chance))


def test_state_that_searches_share_is_caught() -> None:
    with pytest.raises(ContractError, match="Sharing: searches that grow at the same time disturb each other"):
        check_search(Sharing())


@pytest.mark.parametrize("answer", [0, 13, 1.0, True, None])
def test_keep_of_must_be_a_possible_number_of_leaves(answer: Any) -> None:
    with pytest.raises(ContractError, match=r"keep_of\(12, 1\) is .*; it must be a whole number from 1 to 12"):
        check_search(Custom(keep_of=lambda searched, keep: answer))


def test_what_is_no_strategy_is_named() -> None:
    with pytest.raises(ContractError, match=r"object: has no method keep_of\(\)"):
        check_search(object())  # type: ignore[arg-type]


def test_the_global_random_state_is_left_alone() -> None:
    random.seed(5)
    expected = random.Random(5).random()
    check_search(Naive(NaiveConfig()), worlds=2)
    assert random.random() == expected


def test_rough_worlds_hold_everything_that_can_happen() -> None:
    world, seen = World(0, turns=99), set()
    root = world.root()
    for position in range(200):
        child = world.child(1, root, position)
        seen.add((child.valid, child.stop.value if child.stop else None))
    assert seen >= {(True, None), (False, None), (True, "terminated"), (False, "env_error")}
    assert {world.child(1, root, p).score for p in range(200)} == {0.0, 0.25, 0.5, 0.75, float("-inf")}


def test_imagined_groups_earn_what_they_are_told() -> None:
    group = imagined_group(3, [0.0, 1.0], [True, False])
    assert group.metric("return").tolist() == [0.0, 1.0]
    assert group.metric("success").tolist() == [0.0, 1.0]
    assert [t.searched for t in group.trajectories] == [True, False]
    assert {t.group for t in group.trajectories} == {group.id} == {3}
