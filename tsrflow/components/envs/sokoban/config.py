"""Config of ``env=sokoban``."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator, model_validator

from tsrflow.components.envs.sokoban.files import load_levels
from tsrflow.config.base import EnvConfig

Observation = Literal["coords", "grid", "grid+coords"]


class SokobanConfig(EnvConfig):
    """Size, difficulty and observation of the levels."""

    name: Literal["sokoban"] = "sokoban"
    max_turns: int = Field(default=3, ge=1)
    """Turns (sampled messages) per trajectory."""
    size: int = Field(default=6, ge=5, le=20)
    """Rows and columns of generated levels, the surrounding wall included."""
    boxes: int = Field(default=1, ge=1, le=8)
    """Boxes (and targets) of generated levels."""
    search_depth: int = Field(default=100, ge=1, le=10_000)
    """Random reverse moves from the solved position among which a start is chosen; more give longer solutions."""
    min_moves: int = Field(default=3, ge=1)
    """Fewest moves of a shortest solution."""
    max_moves: int | None = Field(default=None, ge=1)
    """Most moves of a shortest solution; None: the actions of an episode."""
    levels: str | None = None
    """File in Boxoban's text format (plain or .gz), or a folder of them; None: generated levels."""
    observation: Observation = "coords"
    """What the policy sees."""
    max_actions: int | None = Field(default=None, ge=1)
    """Actions until the episode is truncated; None: as many as the turns allow."""

    @field_validator("levels")
    @classmethod
    def _levels_can_be_read(cls, value: str | None) -> str | None:
        if value is not None:
            if not Path(value).expanduser().exists():
                raise ValueError(f"no such file or folder: {value}")
            load_levels(value)
        return value

    @model_validator(mode="after")
    def _fits(self) -> SokobanConfig:
        if self.levels is None and self.boxes > self.size - 2:
            raise ValueError(f"boxes={self.boxes} do not fit into size={self.size}; at most {self.size - 2} do")
        if self.levels is None and self.min_moves > self.longest:
            raise ValueError(f"min_moves={self.min_moves} is more than the {self.longest} that max_moves allows")
        return self

    @property
    def action_budget(self) -> int:
        """Actions an episode can have."""
        return self.max_actions or self.max_turns * self.actions_per_turn

    @property
    def longest(self) -> int:
        """Most moves the shortest solution of a generated level takes."""
        return self.max_moves or self.action_budget
