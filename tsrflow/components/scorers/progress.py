"""``scorer=progress``: rewards and penalties so far plus the weighted potential of the state reached.

S(prefix) = sum over turns t of discount**t * (reward_t + penalty_t) + w * potential(state). The potential is what an
environment knows about progress; where it has none this is ``env_reward``.
"""

from __future__ import annotations

from collections.abc import Sequence

from tsrflow.components.scorers.config import ProgressConfig
from tsrflow.types import ScoringContext


class ProgressScorer:
    """Cumulative, so that finished and live prefixes compare."""

    privileged = False

    def __init__(self, config: ProgressConfig) -> None:
        self.config = config

    def score(self, contexts: Sequence[ScoringContext]) -> list[float]:
        weight = self.config.potential_weight
        return [c.discounted + weight * (c.potential or 0.0) for c in contexts]
