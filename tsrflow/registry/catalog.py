"""What can be named in a config: component specs by kind and name.

A spec holds the config class (imported now, torch-free) and the factory (imported only when something is built).
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tsrflow.config.base import ComponentConfig
from tsrflow.errors import ConfigError, nearest

KINDS = ("env", "search", "scorer", "optimizer", "filter", "generator", "model", "tracker")
Factory = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class ComponentSpec:
    """One registered component. ``factory`` is a callable or ``"package.module:Attribute"``; ``origin`` names the
    distribution it came from."""

    kind: str
    name: str
    config: type[ComponentConfig]
    factory: Factory | str
    summary: str
    origin: str

    def build(self, config: ComponentConfig, **context: Any) -> Any:
        """Make the component. Of ``context`` (``model``, ``stochastic``, …) the factory gets what its signature names."""
        factory = self._resolve()
        parameters = inspect.signature(factory).parameters
        takes_all = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())
        return factory(config, **{k: v for k, v in context.items() if takes_all or k in parameters})

    def _resolve(self) -> Factory:
        if not isinstance(self.factory, str):
            return self.factory
        module, _, attribute = self.factory.partition(":")
        resolved: Factory = getattr(importlib.import_module(module), attribute)
        return resolved


class Registry:
    """All components of this process."""

    def __init__(self) -> None:
        self._specs: dict[tuple[str, str], ComponentSpec] = {}
        self.origin = "tsrflow"
        """Distribution whose hook is running; stamped on what it adds."""

    def add(
        self,
        kind: str,
        name: str,
        *,
        config: type[ComponentConfig],
        factory: Factory | str,
        summary: str,
        override: bool = False,
    ) -> None:
        """Register a component. Raises ConfigError for an unknown kind, or a taken name unless ``override``."""
        if kind not in KINDS:
            raise ConfigError(f"{self.origin}: unknown component kind {kind!r}; known: {', '.join(KINDS)}{nearest(kind, KINDS)}")
        taken = self._specs.get((kind, name))
        if taken is not None and not override:
            raise ConfigError(f"two components are called {kind}={name}: one from {taken.origin}, one from {self.origin}")
        self._specs[kind, name] = ComponentSpec(kind, name, config, factory, summary, self.origin)

    def get(self, kind: str, name: str) -> ComponentSpec:
        """The component ``kind=name``. Raises ConfigError naming what exists and the nearest name."""
        spec = self._specs.get((kind, name))
        if spec is None:
            known = self.names(kind)
            raise ConfigError(f"{kind}={name}: no such {kind}; known: {', '.join(known)}{nearest(name, known)}")
        return spec

    def names(self, kind: str) -> list[str]:
        """Names registered for ``kind``, in alphabetical order."""
        return sorted(name for k, name in self._specs if k == kind)

    def specs(self, kind: str | None = None) -> list[ComponentSpec]:
        """All specs, or those of one kind, ordered by kind and name."""
        chosen = [spec for spec in self._specs.values() if kind in (None, spec.kind)]
        return sorted(chosen, key=lambda spec: (KINDS.index(spec.kind), spec.name))
