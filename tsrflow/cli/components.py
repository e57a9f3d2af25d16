"""``tsrflow components [kind]``: what a config can name, where it comes from, and its settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tsrflow.errors import ConfigError, nearest
from tsrflow.registry import KINDS, ComponentSpec, registry


def main(arguments: Sequence[str]) -> None:
    """Print a table of all components, or of one kind. Raises ConfigError for an unknown kind."""
    if len(arguments) > 1:
        raise ConfigError(f"components {' '.join(arguments)}: takes at most one kind")
    kind = arguments[0] if arguments else None
    if kind is not None and kind not in KINDS:
        raise ConfigError(f"components {kind}: no such kind; known: {', '.join(KINDS)}{nearest(kind, KINDS)}")
    console = Console()
    table = Table(show_lines=True)
    for column in ("component", "origin", "what it is", "settings"):
        table.add_column(column, overflow="fold")
    for spec in registry().specs(kind):
        table.add_row(f"{spec.kind}={spec.name}", spec.origin, spec.summary, Text("\n".join(_settings(spec))))
    console.print(table)


def _settings(spec: ComponentSpec) -> list[str]:
    return [_setting(name, field) for name, field in spec.config.model_fields.items() if name != "name"] or ["none"]


def _setting(name: str, field: FieldInfo) -> str:
    default: Any = field.get_default(call_default_factory=True)
    shown = "(required)" if default is PydanticUndefined else f"= {default}"
    return f"{name} {shown}  {field.description or ''}".rstrip()
