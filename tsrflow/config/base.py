"""Base classes of everything a user edits: frozen Pydantic models that forbid unknown keys.

A default lives here or in the component's own config class and nowhere else; YAML files choose and override.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

ForkCapability = Literal["snapshot", "deepcopy", "replay", "none"]


class ConfigModel(BaseModel):
    """Frozen, strict about unknown keys, documented by attribute docstrings."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, validate_default=True)


class ComponentConfig(ConfigModel):
    """Config of one registered component; ``name`` is the name it is registered under."""

    name: str
    """Registered name of the component."""


class EnvConfig(ComponentConfig):
    """What every environment's config has: the shape of an episode as the policy lives it."""

    max_turns: int = Field(default=5, ge=1)
    """Turns (sampled messages) per trajectory."""
    actions_per_turn: int = Field(default=2, ge=1)
    """Actions executed per turn; further ones in the same answer are cut."""

    @property
    def deterministic(self) -> bool:
        """Whether ``step`` draws no random numbers."""
        return True

    @property
    def fork(self) -> ForkCapability:
        """How a live episode can be copied."""
        return "snapshot"
