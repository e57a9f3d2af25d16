"""Finds and loads plugins, one by one, so that a broken one costs a warning and not the command line.

``TSRFLOW_PLUGINS=a,b`` loads only the entry points of those names (empty: none); ``TSRFLOW_STRICT_PLUGINS=1`` turns the
warning into an error.
"""

from __future__ import annotations

import importlib
import os
import warnings
from collections.abc import Iterable
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points

import pluggy

from tsrflow.errors import ConfigError
from tsrflow.registry import hookspecs
from tsrflow.registry.catalog import DuplicateComponentError, Registry

GROUP = "tsrflow"
BUILT_INS = "tsrflow.components"


class PluginWarning(UserWarning):
    """A plugin was skipped."""


@lru_cache(maxsize=1)
def registry() -> Registry:
    """The registry of this process: built-ins first, then every installed plugin. Loaded on first use."""
    return load(importlib.import_module(BUILT_INS), entry_points(group=GROUP))


def load(built_ins: object, plugins: Iterable[EntryPoint]) -> Registry:
    """A registry filled by ``built_ins`` and then by ``plugins`` in order of their names.

    Raises DuplicateComponentError where two of them add the same kind and name, and ConfigError for a broken plugin in
    strict mode.
    """
    filled = _extended(Registry(), built_ins, "tsrflow")
    allowed = os.environ.get("TSRFLOW_PLUGINS")
    wanted = None if allowed is None else {name.strip() for name in allowed.split(",")}
    for entry in sorted(plugins, key=lambda e: e.name):
        if wanted is not None and entry.name not in wanted:
            continue
        origin = entry.dist.name if entry.dist is not None else entry.name
        try:
            filled = _extended(filled, entry.load(), origin)
        except DuplicateComponentError:
            raise
        except Exception as error:  # plugins are third-party code
            reason = f"{type(error).__name__}: {error}" if not isinstance(error, ConfigError) else str(error)
            if os.environ.get("TSRFLOW_STRICT_PLUGINS") == "1":
                raise ConfigError(f"plugin {origin} ({entry.value}) is broken: {reason}") from error
            warnings.warn(f"plugin {origin} ({entry.value}) was skipped: {reason}", PluginWarning, stacklevel=2)
    return filled


def _extended(filled: Registry, plugin: object, origin: str) -> Registry:
    """``filled`` plus what ``plugin`` adds; a plugin that fails half-way leaves nothing behind."""
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    manager.register(plugin)
    if not manager.get_hookcallers(plugin):
        raise ConfigError("it has no function tsrflow_register marked with tsrflow.registry.hookimpl")
    manager.check_pending()
    extended = Registry(origin, base=filled)
    manager.hook.tsrflow_register(registry=extended)
    return extended
