"""Finds and loads plugins, one by one, so that a broken one costs a warning and not the command line.

``TSRFLOW_PLUGINS=a,b`` loads only the entry points of those names (empty: none); ``TSRFLOW_STRICT_PLUGINS=1`` turns the
warning into the error.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType

import pluggy

from tsrflow.errors import ConfigError
from tsrflow.registry import hookspecs
from tsrflow.registry.catalog import Registry

GROUP = "tsrflow"
BUILT_INS = "tsrflow.components"


@lru_cache(maxsize=1)
def registry() -> Registry:
    """The registry of this process: built-ins first, then every installed plugin. Loaded on first use."""
    import importlib

    return load(importlib.import_module(BUILT_INS), entry_points(group=GROUP))


def load(built_ins: ModuleType, plugins: Iterable[EntryPoint]) -> Registry:
    """A registry filled by ``built_ins`` and ``plugins``."""
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    filled = Registry()
    _register(manager, filled, built_ins, "tsrflow")
    allowed = os.environ.get("TSRFLOW_PLUGINS")
    wanted = None if allowed is None else {name.strip() for name in allowed.split(",")}
    for entry in sorted(plugins, key=lambda e: e.name):
        if wanted is not None and entry.name not in wanted:
            continue
        origin = entry.dist.name if entry.dist is not None else entry.name
        try:
            _register(manager, filled, entry.load(), origin)
        except ConfigError:
            raise  # two components of one name: nobody can tell which is meant
        except Exception as error:  # plugins are third-party code
            if os.environ.get("TSRFLOW_STRICT_PLUGINS") == "1":
                raise ConfigError(f"plugin {origin} is broken: {type(error).__name__}: {error}") from error
            warnings.warn(f"plugin {origin} was skipped: {type(error).__name__}: {error}", stacklevel=2)
    return filled


def _register(manager: pluggy.PluginManager, filled: Registry, plugin: object, origin: str) -> None:
    manager.register(plugin)
    others = [other for other in manager.get_plugins() if other is not plugin]
    filled.origin = origin
    manager.subset_hook_caller("tsrflow_register", others)(registry=filled)
