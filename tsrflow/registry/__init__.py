"""Registered components: what a config may name."""

from __future__ import annotations

from tsrflow.registry.catalog import KINDS, ComponentSpec, Registry
from tsrflow.registry.hookspecs import hookimpl
from tsrflow.registry.plugins import registry

__all__ = ["KINDS", "ComponentSpec", "Registry", "hookimpl", "registry"]
