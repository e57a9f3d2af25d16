"""``model=tiny``: the warmed-up Qwen2-architecture policy of about 0.1M parameters that ships with the package.

It knows the turn format and plays a little, so that reinforcement learning on a laptop has something to improve. How it
was made: ``tsrflow warmup`` (see the model card beside the weights).
"""

from __future__ import annotations

from pathlib import Path

from tsrflow.components.models.config import TinyConfig
from tsrflow.components.models.policy import LoadedPolicy, load_policy

ASSET = Path(__file__).with_name("assets") / "tiny"


class TinyModel:
    """Loads the packaged folder, or ``model.path`` where one is given."""

    def __init__(self, config: TinyConfig) -> None:
        self.config = config

    def load(self) -> LoadedPolicy:
        return load_policy(self.config.path or ASSET)
