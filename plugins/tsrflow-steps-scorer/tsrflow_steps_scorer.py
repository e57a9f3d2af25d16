"""``scorer=steps``: progress minus a cost for every turn taken, so that search prefers short ways to the same state.

S(prefix) = sum over turns t of discount**t * (reward_t + penalty_t) + w * potential(state) - turn_cost * turns
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from tsrflow.config.base import ComponentConfig
from tsrflow.registry import Registry, hookimpl
from tsrflow.types import ScoringContext


class StepsConfig(ComponentConfig):
    """Settings of ``scorer=steps``."""

    name: Literal["steps"] = "steps"
    turn_cost: float = Field(gt=0, le=1)
    """What a turn costs; has no default because it depends on how large rewards are."""
    potential_weight: float = Field(default=1.0, ge=0)
    """Weight of the potential, which lies in [-1, 1]."""


class StepsScorer:
    """Sees what the policy sees, plus the potential that every scorer is given."""

    privileged = False

    def __init__(self, config: StepsConfig) -> None:
        self.config = config

    def score(self, contexts: Sequence[ScoringContext]) -> list[float]:
        weight, cost = self.config.potential_weight, self.config.turn_cost
        return [c.discounted + weight * (c.potential or 0.0) - cost * c.depth for c in contexts]


@hookimpl
def tsrflow_register(registry: Registry) -> None:
    """The one hook of a tsrflow plugin."""
    registry.add(
        "scorer",
        "steps",
        config=StepsConfig,
        factory=StepsScorer,
        summary="progress minus a cost per turn",
    )
