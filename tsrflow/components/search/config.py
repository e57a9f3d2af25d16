"""Config of the search strategies (torch-free, so that validating a run imports nothing heavy)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tsrflow.config.base import EnvConfig, SearchConfig


class NaiveConfig(SearchConfig):
    """One linear rollout, no search."""

    name: Literal["naive"] = "naive"

    @property
    def needs_fork(self) -> bool:
        return False


class BestOfNConfig(SearchConfig):
    """Best of N complete rollouts."""

    name: Literal["bon"] = "bon"
    n: int = Field(default=4, ge=1)
    """Rollouts per search; with ``scope: group``, per kept trajectory."""
    scope: Literal["trajectory", "group"] = "trajectory"
    """Select within each search, or once among all searched rollouts of a group."""

    @property
    def needs_fork(self) -> bool:
        return self.n > 1 or self.scope == "group"

    @property
    def max_keep(self) -> int | None:
        return self.n if self.scope == "trajectory" else None


class BeamConfig(SearchConfig):
    """Keep the best prefixes, turn by turn."""

    name: Literal["beam"] = "beam"
    width: int = Field(default=2, ge=1)
    """Prefixes kept (B)."""
    candidates: int = Field(default=4, ge=1)
    """Turns sampled per prefix (M)."""

    @property
    def max_keep(self) -> int | None:
        return self.width

    def conflicts(self, env: EnvConfig) -> list[str]:
        reachable = self.candidates**env.max_turns
        if self.width <= reachable:
            return []
        return [
            f"search.width={self.width}: can never be filled, search.candidates={self.candidates} gives at most "
            f"{reachable} prefixes in env.max_turns={env.max_turns}"
        ]


class LookaheadConfig(SearchConfig):
    """Look a few turns ahead before committing to one."""

    name: Literal["lookahead"] = "lookahead"
    candidates: int = Field(default=4, ge=1)
    """Turns that compete for being committed (M)."""
    depth: int = Field(default=2, ge=1)
    """Turns of each candidate's subtree, the candidate included (D)."""
    branch: int = Field(default=1, ge=1)
    """Continuations per node inside the subtree (b)."""
    aggregate: Literal["auto", "max", "mean"] = "auto"
    """Value of a candidate from its leaves; auto: max where the dynamics are deterministic, else mean."""
