"""One live search: its tree, its coroutine, and what it waits for.

What a strategy may ask for and return is checked here, so that a faulty one is named instead of failing somewhere else.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field

from tsrflow.errors import RunError
from tsrflow.protocols import Expand, SearchStrategy
from tsrflow.rollout.fork import Handle
from tsrflow.rollout.stream import Stream
from tsrflow.types import IntArray, Node, Task, TrajectoryTree


@dataclass(slots=True)
class Search:
    """Growth of one tree; ``kept`` holds the leaves once the strategy has returned."""

    task: Task
    slot: int
    index: int
    searched: bool
    tree: TrajectoryTree
    stream: Stream
    keep: int = 1
    strategy: str = ""
    coroutine: Generator[Expand, list[Node], list[Node]] | None = None
    pending: Expand | None = None
    kept: list[Node] = field(default_factory=list)
    handles: dict[int, Handle] = field(default_factory=dict)
    prefixes: dict[int, IntArray] = field(default_factory=dict)
    """Token ids [T] from the root to each node that can still be continued."""
    requested_tokens: int = 0
    """Prompt tokens of all expansions, were every candidate to read its whole prefix."""
    errors: list[str] = field(default_factory=list)

    def start(self, strategy: SearchStrategy, root: Node) -> None:
        """Make ``strategy`` the one that grows this tree from ``root``."""
        self.strategy = type(strategy).__name__
        self.coroutine = strategy.search(root, self.keep, self.stream)

    def advance(self, children: list[Node] | None) -> bool:
        """Send ``children`` (None: nothing yet) to the strategy; False once it has returned.

        Raises RunError where it asks for or returns what its protocol does not allow.
        """
        if self.coroutine is None:
            raise RunError(f"the search over {self.task.id} has not been started or is over already")
        try:
            self.pending = next(self.coroutine) if children is None else self.coroutine.send(children)
        except StopIteration as finished:
            self._finish(finished.value)
            return False
        self._check_request(self.pending)
        return True

    def _finish(self, leaves: object) -> None:
        if not isinstance(leaves, list) or not leaves:
            raise self._fault(f"returned {leaves!r} instead of a non-empty list of leaves")
        if len(leaves) > self.keep:
            raise self._fault(f"returned {len(leaves)} leaves, asked for {self.keep}")
        if len({leaf.id for leaf in leaves}) < len(leaves):
            raise self._fault("returned the same leaf twice")
        for leaf in leaves:
            if not leaf.done:
                raise self._fault(f"returned node {leaf.id}, which is not finished")
        self.kept = list(leaves)
        self.tree.selections = self.stream.selections
        self.coroutine = self.pending = None
        self.handles.clear()
        self.prefixes.clear()

    def _check_request(self, request: Expand) -> None:
        if request.n < 1 or not request.nodes:
            raise self._fault(f"asked for {request.n} children of {len(request.nodes)} nodes; both must be at least 1")
        for node in request.nodes:
            if node.done:
                raise self._fault(f"asked to continue node {node.id}, which is finished")

    def _fault(self, what: str) -> RunError:
        return RunError(f"search strategy {self.strategy} {what}")
