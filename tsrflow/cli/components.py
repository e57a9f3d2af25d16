"""``tsrflow components [KIND]``: what a config can name, where it comes from, and its settings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tsrflow.cli.table import wide_console
from tsrflow.config.fields import accepts, show
from tsrflow.errors import ConfigError, nearest
from tsrflow.registry import KINDS, ComponentSpec, registry


def main(arguments: Sequence[str]) -> None:
    """Print all components, or those of one kind. Raises ConfigError for anything else."""
    if len(arguments) > 1:
        raise ConfigError(f"components {' '.join(arguments)}: takes at most one kind")
    kind = arguments[0] if arguments else None
    if kind is not None and kind not in KINDS:
        raise ConfigError(f"components {kind}: no such kind; known: {', '.join(KINDS)}{nearest(kind, KINDS)}")
    print_components(registry().specs(kind), wide_console())


def print_components(specs: Sequence[ComponentSpec], console: Console) -> None:
    """One table: a row per component, followed by a row per setting (what it takes, default, meaning)."""
    table = Table()
    for column in ("component or setting", "origin or values", "default", "meaning"):
        table.add_column(column, overflow="fold")
    for spec in specs:
        table.add_section()
        table.add_row(Text(f"{spec.kind}={spec.name}", style="bold"), Text(spec.origin), "", Text(spec.summary))
        for cells in _settings(spec):
            table.add_row(*(Text(cell) for cell in cells))
    console.print(table)


def _settings(spec: ComponentSpec) -> Iterator[tuple[str, str, str, str]]:
    for name, field in spec.config.model_fields.items():
        if name != "name":
            yield f"  {spec.kind}.{name}", accepts(field), _default(field), field.description or ""


def _default(field: FieldInfo) -> str:
    default: Any = field.get_default(call_default_factory=True, validated_data={})
    return "required" if default is PydanticUndefined else show(default)
