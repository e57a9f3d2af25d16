"""What can be named in a config: component specs by kind and name.

A spec holds the config class (imported when the component is registered, free of torch) and the factory (imported only
when something is built).
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tsrflow.config.base import (
    ComponentConfig,
    EnvConfig,
    GeneratorConfig,
    ModelConfig,
    OptimizerConfig,
    SearchConfig,
)
from tsrflow.errors import ConfigError, nearest

CONFIG_BASES: dict[str, type[ComponentConfig]] = {
    "env": EnvConfig,
    "search": SearchConfig,
    "scorer": ComponentConfig,
    "optimizer": OptimizerConfig,
    "filter": ComponentConfig,
    "generator": GeneratorConfig,
    "model": ModelConfig,
    "tracker": ComponentConfig,
}
"""What the config class of each kind derives from."""
KINDS = tuple(CONFIG_BASES)
Factory = Callable[..., Any]


class DuplicateComponentError(ConfigError):
    """Two components with one kind and name: nobody could tell which one a config means."""


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
        """Make the component. Of ``context`` (``model``, ``stochastic``, …) the factory gets what its signature names.

        Raises ConfigError where a lazy factory cannot be imported.
        """
        factory = self._resolve()
        parameters = inspect.signature(factory).parameters
        takes_all = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())
        return factory(config, **{k: v for k, v in context.items() if takes_all or k in parameters})

    def _resolve(self) -> Factory:
        if not isinstance(self.factory, str):
            return self.factory
        module, _, attribute = self.factory.partition(":")
        try:
            resolved: Factory = getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            where = f"{self.kind}={self.name} (from {self.origin})"
            raise ConfigError(f"{where}: its factory {self.factory!r} cannot be imported: {error}") from error
        return resolved


class Registry:
    """Components by kind and name. ``origin`` is stamped on what is added; ``base`` is what was there before."""

    def __init__(self, origin: str = "tsrflow", base: Registry | None = None) -> None:
        self.origin = origin
        self._specs: dict[tuple[str, str], ComponentSpec] = {} if base is None else dict(base._specs)

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
        """Register a component.

        Raises ConfigError for an unknown kind or a config class of the wrong base, and DuplicateComponentError for a
        taken name unless ``override``.
        """
        if kind not in KINDS:
            raise ConfigError(f"unknown component kind {kind!r}; known: {', '.join(KINDS)}{nearest(kind, KINDS)}")
        base = CONFIG_BASES[kind]
        if not (isinstance(config, type) and issubclass(config, base)):
            raise ConfigError(
                f"{kind}={name}: its config {config!r} must be a subclass of {base.__module__}.{base.__name__}"
            )
        taken = self._specs.get((kind, name))
        if taken is not None and not override:
            raise DuplicateComponentError(
                f"two components are called {kind}={name}: one from {taken.origin}, one from {self.origin}"
            )
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
