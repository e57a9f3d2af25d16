"""The cost ledger of a piece of work: counts are kept here by the engine, never by strategies."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tsrflow.types import Cost


@dataclass(slots=True)
class Ledger:
    """Adds up costs; ``total`` is a frozen snapshot."""

    total: Cost = field(default_factory=Cost)

    def add(self, **amounts: float) -> None:
        """Add componentwise, for example ``add(llm_calls=8, decode_tokens=96)``."""
        self.total = self.total + Cost(**amounts)  # type: ignore[arg-type]

    @contextmanager
    def seconds(self, name: str) -> Iterator[None]:
        """Time the block into ``name`` (``rollout_seconds`` or ``update_seconds``)."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.add(**{name: time.perf_counter() - start})
