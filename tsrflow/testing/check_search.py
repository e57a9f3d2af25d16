"""Contract of search strategies, checked on imagined worlds (see ``tsrflow.testing.imagined``)."""

from __future__ import annotations

import inspect
import random
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field

import numpy as np

from tsrflow import streams
from tsrflow.protocols import Expand, SearchStrategy
from tsrflow.testing.contract import require
from tsrflow.testing.imagined import TASK, LoggedStream, World
from tsrflow.types import Node, TrajectoryTree

MOST_REQUESTS = 1000
"""Requests after which a search over three turns counts as endless."""


def check_search(strategy: SearchStrategy, *, keep: int = 1, worlds: int = 20) -> None:
    """Raise ContractError for the first rule of ``SearchStrategy`` that ``strategy`` breaks.

    ``keep`` is the largest ``rollout.keep`` it supports; every number up to that is tried in ``worlds`` random worlds.
    """
    for name in ("keep_of", "search"):
        require(callable(getattr(strategy, name, None)), strategy, f"has no method {name}()")
    for wanted in range(1, keep + 1):
        leaves = strategy.keep_of(12, wanted)
        valid = isinstance(leaves, int) and not isinstance(leaves, bool) and 1 <= leaves <= 12
        require(valid, strategy, f"keep_of(12, {wanted}) is {leaves!r}; it must be a whole number from 1 to 12")
        _check_dead_root(strategy, wanted)
        _check_plain_world(strategy, wanted)
        alone = [_grow(strategy, [World(seed)], wanted)[0] for seed in range(worlds)]
        for run in alone:
            _check_leaves(strategy, run)
        _check_reproducible(strategy, alone, wanted)


@dataclass(slots=True)
class _Run:
    world: World
    keep: int
    tree: TrajectoryTree
    stream: LoggedStream
    coroutine: Generator[Expand, list[Node], list[Node]]
    pending: Expand | None = None
    kept: list[Node] = field(default_factory=list)

    @property
    def outcome(self) -> tuple[object, ...]:
        """All that a second run must repeat."""
        tree = [(node.parent, node.stream) for node in self.tree.nodes]
        return tree, [leaf.id for leaf in self.kept], self.stream.selections


def _grow(strategy: SearchStrategy, worlds: Sequence[World], keep: int, dead: bool = False) -> list[_Run]:
    """Grow one search per world, all of them in step."""
    runs = []
    for world in worlds:
        tree, stream = TrajectoryTree(TASK), LoggedStream(streams.fold(world.seed, "select"))
        coroutine = strategy.search(tree.add(world.root(dead)), keep, stream)
        require(
            inspect.isgenerator(coroutine), strategy, f"search() returned {type(coroutine).__name__}, not a generator"
        )
        runs.append(_Run(world, keep, tree, stream, coroutine))
    live = [run for run in runs if _advance(strategy, run, None)]
    for _ in range(MOST_REQUESTS):
        if not live:
            return runs
        live = [run for run in live if _advance(strategy, run, _children(run))]
    require(not live, strategy, f"a search did not end after {MOST_REQUESTS} requests")
    return runs


def _children(run: _Run) -> list[Node]:
    assert run.pending is not None
    nodes = {node.id: node for node in run.pending.nodes}  # a node listed twice gets all its children in one place
    children = []
    for node in nodes.values():
        for _ in range(run.pending.n * [other.id for other in run.pending.nodes].count(node.id)):
            position = len(run.tree.children[node.id])
            children.append(run.tree.add(run.world.child(len(run.tree.nodes), node, position)))
    return children


def _advance(strategy: SearchStrategy, run: _Run, children: list[Node] | None) -> bool:
    try:
        request = next(run.coroutine) if children is None else run.coroutine.send(children)
    except StopIteration as finished:
        run.kept = finished.value
        return False
    require(isinstance(request, Expand), strategy, f"search() yielded {request!r}; it must yield Expand(nodes, n)")
    require(bool(request.nodes), strategy, "asked for children of no node; return the leaves instead")
    require(request.n >= 1, strategy, f"asked for {request.n} children per node; it must be at least 1")
    for node in request.nodes:
        known = node.id < len(run.tree.nodes) and run.tree.nodes[node.id] is node
        require(known, strategy, f"asked to continue node {node.id}, which is not one it was given in this search")
        require(not node.done, strategy, f"asked to continue node {node.id}, which is done")
    run.pending = request
    return True


def _check_leaves(strategy: SearchStrategy, run: _Run) -> None:
    kept, where = run.kept, f"in imagined world {run.world.seed} with keep={run.keep}"
    require(
        isinstance(kept, list) and bool(kept), strategy, f"search() returned {kept!r} {where}; it must return leaves"
    )
    for leaf in kept:
        require(isinstance(leaf, Node), strategy, f"search() returned {leaf!r} {where}; it must return a list of nodes")
        require(leaf.done, strategy, f"returned node {leaf.id} {where}, which is not done")
        ours = leaf.id < len(run.tree.nodes) and run.tree.nodes[leaf.id] is leaf
        require(ours, strategy, f"returned node {leaf.id} {where}, which is not of this search")
    require(len(kept) <= run.keep, strategy, f"returned {len(kept)} leaves {where}")
    require(len({leaf.id for leaf in kept}) == len(kept), strategy, f"returned a leaf twice {where}")
    ranks = [(leaf.valid, leaf.score) for leaf in kept]
    require(
        ranks == sorted(ranks, reverse=True), strategy, f"leaves are not best first {where}: (valid, score) {ranks}"
    )
    for selection in run.stream.selections:
        inside = set(selection.kept) <= set(selection.candidates)
        require(
            inside, strategy, f"recorded a selection {where} that keeps nodes which were no candidates: {selection}"
        )


def _check_dead_root(strategy: SearchStrategy, keep: int) -> None:
    (run,) = _grow(strategy, [World(0)], keep, dead=True)
    rule = "where the root is done already, search() must return the root and ask for nothing"
    require(isinstance(run.kept, list) and [node.id for node in run.kept] == [0], strategy, rule)


def _check_plain_world(strategy: SearchStrategy, keep: int) -> None:
    (run,) = _grow(strategy, [World(1, rough=False)], keep)
    _check_leaves(strategy, run)
    rule = f"returned {len(run.kept)} leaves for keep={keep} although every turn was valid and distinct"
    require(len(run.kept) == keep, strategy, rule)


def _check_reproducible(strategy: SearchStrategy, alone: Sequence[_Run], keep: int) -> None:
    worlds = [run.world for run in alone]
    python_state, numpy_state = random.getstate(), np.random.get_state()
    try:
        for seed in (1, 2):
            random.seed(seed)
            np.random.seed(seed)
            again = [_grow(strategy, [world], keep)[0] for world in worlds]
            same = all(one.outcome == other.outcome for one, other in zip(alone, again, strict=True))
            require(same, strategy, "a second run differs; all chance must come from the rng that search() is given")
    finally:
        random.setstate(python_state)
        np.random.set_state(numpy_state)
    together = _grow(strategy, worlds, keep)
    same = all(one.outcome == other.outcome for one, other in zip(alone, together, strict=True))
    require(same, strategy, "searches that grow at the same time disturb each other; keep all state inside search()")
