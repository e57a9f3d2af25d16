"""Config of ``env=webshop``; importing it loads neither numpy nor a search index."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator

from tsrflow.config.base import EnvConfig

_RESULTS_PER_PAGE = 10
_COMPACT_RESULTS_PER_PAGE = 5


class WebShopConfig(EnvConfig):
    """Catalogue, goals and observation of the shop."""

    name: Literal["webshop"] = "webshop"
    max_turns: int = Field(default=9, ge=1)
    """Turns (sampled messages) per trajectory."""
    actions_per_turn: int = Field(default=1, ge=1)
    """Actions executed per turn; further ones in the same answer are cut."""
    data: str | None = None
    """Folder with items_shuffle*.json, items_ins_v2*.json and items_human_ins.json (plain or .gz), or the first of
    these files; None: a catalogue that the package makes up."""
    goals: Literal["auto", "human", "synthetic"] = "auto"
    """Whose instructions; auto: human ones where the data has more than 1500, else synthetic ones."""
    max_products: int | None = Field(default=None, ge=1)
    """Read only so many records of the data; None: all."""
    world_seed: int = Field(default=0, ge=0)
    """Seed of the prices drawn from a range and of the price limits in the instructions."""
    observation: Literal["compact", "text", "rich"] = "compact"
    """What the policy sees: short pages for small models, or the original's [SEP] or rich text."""
    list_actions: bool = False
    """Append the available actions to every observation."""
    hints: bool = False
    """Add advice on how to shop to the instructions."""
    obs_chars: int | None = Field(default=None, ge=80)
    """Cut the text of a page after so many characters; None: never."""
    page_size: int | None = Field(default=None, ge=1, le=50)
    """Products per results page; None: 10, or 5 in compact observations."""
    quirks: Literal["mended", "faithful"] = "mended"
    """faithful: behave as the original even where that lets a policy bypass the search or shop on after buying."""
    show_attributes: bool = False
    """Give item pages the original's hidden Attributes tab."""
    reward: Literal["graded", "binary"] = "graded"
    """What a purchase pays: its score in [0, 1], or 1 for a score of 1 and else 0."""
    nouns: Literal["auto", "table", "spacy", "rule"] = "auto"
    """Where nouns of titles come from; auto: the data's title_nouns table, else spaCy where installed, else a rule."""
    spacy_model: str = "en_core_web_sm"
    """Name of the spaCy model, where one is asked."""
    max_actions: int | None = Field(default=None, ge=1)
    """Actions until the episode is truncated; None: as many as the turns allow."""
    cache: str | None = None
    """Folder for search indexes; None: $XDG_CACHE_HOME/tsrflow or ~/.cache/tsrflow."""

    @field_validator("data")
    @classmethod
    def _data_is_there(cls, value: str | None) -> str | None:
        if value is not None and not Path(value).expanduser().exists():
            raise ValueError(f"no such file or folder: {value}")
        return value

    @property
    def action_budget(self) -> int:
        """Actions an episode can have."""
        return self.max_actions or self.max_turns * self.actions_per_turn

    @property
    def results_per_page(self) -> int:
        """Products on one results page."""
        default = _COMPACT_RESULTS_PER_PAGE if self.observation == "compact" else _RESULTS_PER_PAGE
        return self.page_size or default
