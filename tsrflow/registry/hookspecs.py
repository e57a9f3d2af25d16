"""The one hook of tsrflow. Built-ins and third parties register through it alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from tsrflow.registry.catalog import Registry

PROJECT = "tsrflow"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def tsrflow_register(registry: Registry) -> None:
    """Add components: ``registry.add(kind, name, config=..., factory=..., summary=...)``."""
