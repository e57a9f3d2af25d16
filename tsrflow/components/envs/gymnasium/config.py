"""Config of ``env=gymnasium``; importing it does not import Gymnasium, making one does."""

from __future__ import annotations

import importlib.util
from typing import Any, Literal

from pydantic import Field, model_validator

from tsrflow.config.base import EnvConfig, ForkCapability
from tsrflow.errors import ConfigError


class GymnasiumConfig(EnvConfig):
    """Which environment, how it is put into words, and what counts as success."""

    name: Literal["gymnasium"] = "gymnasium"
    id: str
    """Registered id, for example FrozenLake-v1; my_module:MyEnv-v0 imports my_module first."""
    kwargs: dict[str, Any] | None = None
    """Arguments of the environment, for example {is_slippery: false}."""
    actions: tuple[str, ...] | None = None
    """Names of the actions in order; None: those the environment tells, else their numbers."""
    observation: Literal["auto", "ansi", "space"] = "auto"
    """What the policy sees: the environment's ansi picture or its observation in words; auto: ansi where it has one."""
    digits: int = Field(default=3, ge=0, le=12)
    """Decimals of numbers in observations."""
    instructions: str | None = None
    """Rules for the system prompt; None: the id, what an observation is, and the actions."""
    action_mask: bool = True
    """Whether actions that info["action_mask"] rules out are refused."""
    success: Literal["return", "reward", "reach", "terminated", "info"] = "return"
    """What makes an episode a success. return, reward: it terminated with that return or last reward; reach: the
    return got there, which ends the episode; terminated: it terminated; info: it did with info["success"] or
    info["is_success"]."""
    success_at: float | None = None
    """The least return or reward that is a success; None: the environment's reward_threshold, else more than 0."""
    split_by: Literal["seed", "start"] = "seed"
    """What keeps train, validation and test tasks apart: the reset seed, or the first observation it leads to."""
    fork: Literal["auto", "snapshot", "replay", "none"] = "auto"
    """How an episode is copied; auto: found out by trying, snapshot before replay before none."""
    max_actions: int | None = Field(default=None, ge=1)
    """Actions until the episode is truncated; None: as many as the turns allow."""

    @model_validator(mode="after")
    def _can_be_played(self) -> GymnasiumConfig:
        if importlib.util.find_spec("gymnasium") is None:
            raise ValueError("Gymnasium is not installed; pip install 'tsrflow[gymnasium]'")
        from tsrflow.components.envs.gymnasium.probe import facts
        from tsrflow.components.envs.gymnasium.world import World

        try:
            World(self)
            facts(self).demand(self.fork)
        except ConfigError as error:
            raise ValueError(str(error)) from error
        return self

    @property
    def deterministic(self) -> bool:
        from tsrflow.components.envs.gymnasium.probe import facts

        return facts(self).deterministic

    @property
    def fork_capability(self) -> ForkCapability:
        if self.fork != "auto":
            return self.fork
        from tsrflow.components.envs.gymnasium.probe import facts

        return facts(self).capability

    @property
    def action_budget(self) -> int:
        """Actions an episode can have."""
        return self.max_actions or self.max_turns * self.actions_per_turn
