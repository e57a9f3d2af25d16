"""Random worlds and policies for property tests, each a function of one number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tests.scripted import answer
from tsrflow import streams
from tsrflow.protocols import Expand, SearchStrategy
from tsrflow.rollout.live import Search
from tsrflow.testing.scripted import Script
from tsrflow.types import Node

State = tuple[float, bool, bool, float]


class HashedTable(Mapping[str, State]):
    """Every path has a reward, an end and a potential drawn from a few values, so that ties are common."""

    def __init__(self, seed: int, ends: int = 4) -> None:
        self._seed = seed
        self._ends = ends

    def __getitem__(self, path: str) -> State:
        number = streams.fold(self._seed, path)
        ended = bool(path) and number % self._ends == 0
        reward, potential = (number >> 8) % 3 * 0.5 - 0.5, (number >> 16) % 3 * 0.25
        return reward, ended, ended and (number >> 24) % 2 == 0, potential

    def __iter__(self) -> Iterator[str]:
        raise TypeError("endless")

    def __len__(self) -> int:
        return 1


def moody_script(seed: int) -> Script:
    """One or two actions, sometimes an answer that is broken or partly unknown."""
    texts = [*(answer(a) for a in ("a", "b", "c", "ab", "ba", "az", "z")), "nothing to say"]
    return lambda prompt, sample: texts[streams.fold(seed, prompt, sample) % len(texts)]


Round = tuple[list[Node], list[Node]]


class Watched:
    """A strategy that behaves as the one it wraps and remembers every (expanded nodes, children)."""

    def __init__(self, inner: SearchStrategy) -> None:
        self.inner = inner
        self.rounds: list[Round] = []

    def keep_of(self, searched: int, keep: int) -> int:
        return self.inner.keep_of(searched, keep)

    def search(self, root, keep, rng):  # type: ignore[no-untyped-def]
        coroutine = self.inner.search(root, keep, rng)
        children: list[Node] | None = None
        while True:
            try:
                request: Expand = next(coroutine) if children is None else coroutine.send(children)
            except StopIteration as finished:
                return finished.value
            children = yield request
            self.rounds.append((list(request.nodes), children))


def beams(search: Search, rounds: list[Round], width: int) -> list[list[Node]]:
    """What the beam held after every turn, rebuilt from the expansions and the log of selections."""
    log = iter(search.tree.selections)
    beam = [search.tree.nodes[0]]
    history = [beam]
    for expanded, children in rounds:
        assert {n.id for n in expanded} == {n.id for n in beam if not n.done}
        pool = [n for n in beam if n.done] + children
        distinct = {(n.state_hash, n.history, n.done) for n in pool}
        beam = pool
        if len(pool) > min(width, len(distinct)):  # a cut, so it is in the log
            selection = next(log)
            assert set(selection.candidates) == {n.id for n in pool}
            beam = [search.tree.nodes[i] for i in selection.kept]
        history.append(beam)
    return history


def same_tree(one: Search, other: Search) -> bool:
    """Equal in every field of every node, in the log of selections and in what was kept."""
    return (
        [_row(n) for n in one.tree.nodes] == [_row(n) for n in other.tree.nodes]
        and one.tree.selections == other.tree.selections
        and [n.id for n in one.kept] == [n.id for n in other.kept]
    )


def _row(node: Node) -> tuple[object, ...]:
    return tuple(
        value.tobytes() if hasattr(value, "tobytes") else value
        for value in (getattr(node, name) for name in type(node).__dataclass_fields__)
    )
