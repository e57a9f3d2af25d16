"""Builds adapters for tests."""

from __future__ import annotations

from typing import Any

import gymnasium

from tests.components.envs.gymnasium import worlds
from tsrflow.components.envs.gymnasium.config import GymnasiumConfig
from tsrflow.components.envs.gymnasium.env import GymnasiumEnv

assert worlds.KINDS


def newest(name: str) -> str:
    """The newest registered version of ``name``: what is installed decides."""
    versions = [spec for spec in gymnasium.registry.values() if spec.name == name and spec.namespace is None]
    return max(versions, key=lambda spec: spec.version or 0).id


def local(name: str) -> str:
    """``Corridor`` as registered by these tests."""
    return f"tsrflow_test/{name}-v0"


def env(id: str, **settings: Any) -> GymnasiumEnv:
    return GymnasiumEnv(GymnasiumConfig(id=id, **settings))
