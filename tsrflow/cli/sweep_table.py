"""The table at the end of a sweep, read from the jobs' run folders."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from tsrflow.config.compose import Job


def print_table(jobs: Sequence[Job], console: Console | None = None) -> bool:
    """Name, status, held-out success with its 95 % interval, generated tokens and seconds of each job.

    Returns whether all of them finished.
    """
    table = Table(title="sweep")
    for column in ("run", "status", "success", "95 % interval", "tokens", "seconds"):
        table.add_column(column, justify="left" if column in ("run", "status") else "right", no_wrap=True)
    complete = True
    for job in jobs:
        summary = _summary(job.folder)
        finished = (job.folder / "DONE").is_file() and summary.get("status") == "finished"
        complete = complete and finished
        table.add_row(job.config.run_name(), *_cells(summary, finished))
    console = console or Console()
    if not console.is_terminal:
        console.width = 160  # a log has room, and cut names are of no use
    console.print(table)
    return complete


def _summary(folder: Path) -> dict[str, Any]:
    file = folder / "summary.json"
    if not file.is_file():
        return {}
    content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return content


def _cells(summary: dict[str, Any], finished: bool) -> list[str]:
    if not finished:
        return [summary.get("status", "no result") if summary.get("status") != "finished" else "unfinished", "", "", "", ""]
    low, high = summary["eval/success_ci95"]
    seconds = summary["cost/rollout_seconds"] + summary["cost/update_seconds"]
    return [
        "finished",
        f"{summary['eval/success']:.3f}",
        f"[{low:.3f}, {high:.3f}]",
        f"{summary['cost/decode_tokens']:,}",
        f"{seconds:.1f}",
    ]
