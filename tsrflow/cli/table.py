"""The table at the end of a sweep."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from tsrflow.cli.jobs import Outcome

_WIDE = 160
"""Columns where output is no terminal: a log has room, and cut names are of no use."""


def wide_console() -> Console:
    """A console for tables."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _WIDE
    return console


def print_table(outcomes: Sequence[Outcome], console: Console | None = None) -> None:
    """Per job: name, status, held-out success with its 95 % interval, sampled tokens, seconds; then what went wrong."""
    table = Table()
    for column in ("job", "status"):
        table.add_column(column, overflow="fold")
    for column in ("success", "95 % interval", "tokens", "seconds"):
        table.add_column(column, justify="right", no_wrap=True)
    for outcome in outcomes:
        table.add_row(outcome.folder.name, outcome.status, *_figures(outcome))
    console = console or wide_console()
    console.print(table)
    for outcome in outcomes:
        if outcome.error:
            console.print(f"{outcome.folder.name}: {outcome.error}", markup=False, soft_wrap=True)


def _figures(outcome: Outcome) -> list[str]:
    summary = outcome.summary
    low_high = summary.get("eval/success_ci95")
    seconds = summary.get("cost/rollout_seconds", 0.0) + summary.get("cost/update_seconds", 0.0)
    return [
        f"{summary['eval/success']:.3f}" if "eval/success" in summary else "",
        f"[{low_high[0]:.3f}, {low_high[1]:.3f}]" if low_high else "",
        f"{summary['cost/decode_tokens']:,.0f}" if "cost/decode_tokens" in summary else "",
        f"{seconds:.1f}" if seconds else "",
    ]
