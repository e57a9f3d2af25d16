"""Registered components: what a config may name."""

from __future__ import annotations

from tsrflow.registry.catalog import KINDS, ComponentSpec, DuplicateComponentError, Registry
from tsrflow.registry.hookspecs import hookimpl
from tsrflow.registry.plugins import PluginWarning, registry

__all__ = [
    "KINDS",
    "ComponentSpec",
    "DuplicateComponentError",
    "PluginWarning",
    "Registry",
    "hookimpl",
    "registry",
]
