"""``scorer=env_reward``: discounted rewards and penalties of the prefix and nothing else, as in the published code."""

from __future__ import annotations

from collections.abc import Sequence

from tsrflow.components.scorers.config import EnvRewardConfig
from tsrflow.types import ScoringContext


class EnvRewardScorer:
    """Blind until a reward arrives: with terminal rewards only, beam search under it ties at every turn."""

    privileged = False

    def __init__(self, config: EnvRewardConfig) -> None:
        self.config = config

    def score(self, contexts: Sequence[ScoringContext]) -> list[float]:
        return [c.discounted for c in contexts]
