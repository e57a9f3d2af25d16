"""``model=tiny``: a warmed-up Qwen2-architecture policy of 0.1M to 0.2M parameters, one per built-in environment.

It knows the turn format and plays a little, so that reinforcement learning on a laptop has something to improve. How
they were made: ``tsrflow warmup`` (see the model card beside the weights). Other environments get the one of
FrozenLake and a warning: it can read and write any text, but hardly keeps the turn format where the text is new to it;
``tsrflow warmup env=... out=FOLDER`` makes a better one.
"""

from __future__ import annotations

import warnings
from pathlib import Path

from tsrflow.components.models.config import TinyConfig
from tsrflow.components.models.policy import LoadedPolicy, load_policy

ASSETS = Path(__file__).with_name("assets")


def asset(env: str) -> Path:
    """The packaged folder for ``env``, that of FrozenLake, with a warning, where there is none of its own."""
    own = ASSETS / env
    if own.is_dir():
        return own
    warnings.warn(
        f"model=tiny: no packaged policy knows env={env}; FrozenLake's is used, most of whose answers to other text "
        f"are malformed. Make one with tsrflow warmup env={env} … out=FOLDER and use it with model.path=FOLDER",
        stacklevel=3,
    )
    return ASSETS / "frozenlake"


class TinyModel:
    """Loads ``model.path`` where one is given, else the packaged folder for the environment of the run."""

    def __init__(self, config: TinyConfig, env: str = "frozenlake") -> None:
        self.config = config
        self._env = env

    def load(self) -> LoadedPolicy:
        return load_policy(self.config.path or asset(self._env))
