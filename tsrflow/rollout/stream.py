"""A search's own random stream and the log of its selections."""

from __future__ import annotations

from collections.abc import Sequence

from tsrflow import streams
from tsrflow.types import Selection


class Stream:
    """Draws orders for breaking ties; one per search, so what happens elsewhere never shifts it."""

    def __init__(self, seed: int) -> None:
        self._generator = streams.generator(seed)
        self.selections: list[Selection] = []

    def permutation(self, n: int) -> Sequence[int]:
        """A random order of ``range(n)``."""
        order: list[int] = self._generator.permutation(n).tolist()
        return order

    def record(self, selection: Selection) -> None:
        """Log one decision."""
        self.selections.append(selection)
