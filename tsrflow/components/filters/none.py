"""``filter=none``: every group is trained on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tsrflow.components.filters.config import NoFilterConfig
from tsrflow.types import Group


class NoFilter:
    """Admits everything."""

    def __init__(self, config: NoFilterConfig) -> None:
        self.config = config

    def admit(self, groups: Sequence[Group]) -> list[bool]:
        return [True] * len(groups)

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None: ...
