"""Progress for people: a live line on a terminal, plain lines elsewhere, nothing when silent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


class Display:
    """Shows phase (rollout, update, eval), success, tokens per second and the time left. Base class: shows nothing."""

    def start(self, title: str, total: int, done: int) -> None: ...

    def phase(self, name: str) -> None: ...

    def step(self, step: int, metrics: Mapping[str, float]) -> None: ...

    def evaluated(self, step: int, metrics: Mapping[str, Any]) -> None: ...

    def note(self, text: str) -> None: ...

    def finish(self) -> None: ...


class PlainDisplay(Display):
    """A line every tenth of the run, one per evaluation: for logs and pipes."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(highlight=False, soft_wrap=True)
        self._total = 1

    def start(self, title: str, total: int, done: int) -> None:
        self._total = total
        self._say(f"{title}: {total} steps" + (f", continued after step {done}" if done else ""))

    def step(self, step: int, metrics: Mapping[str, float]) -> None:
        if step == 1 or step % max(1, self._total // 10) == 0:
            self._say(f"step {step}/{self._total}  {_figures(metrics)}")

    def evaluated(self, step: int, metrics: Mapping[str, Any]) -> None:
        self._say(_evaluation(step, metrics))

    def note(self, text: str) -> None:
        self._say(text)

    def _say(self, text: str) -> None:
        self._console.print(text, markup=False)


class LiveDisplay(PlainDisplay):
    """A progress bar that stays in place; evaluations are printed above it."""

    def __init__(self, console: Console | None = None) -> None:
        super().__init__(console)
        self._progress = Progress(
            TextColumn("{task.fields[phase]:<8}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[figures]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=self._console,
        )
        self._task: Any = None

    def start(self, title: str, total: int, done: int) -> None:
        super().start(title, total, done)
        self._task = self._progress.add_task("", total=total, completed=done, phase="start", figures="")
        self._progress.start()

    def phase(self, name: str) -> None:
        if self._task is not None:
            self._progress.update(self._task, phase=name)

    def step(self, step: int, metrics: Mapping[str, float]) -> None:
        self._progress.update(self._task, completed=step, figures=_figures(metrics))

    def finish(self) -> None:
        self._progress.stop()

    def _say(self, text: str) -> None:
        self._progress.console.print(text, markup=False)


def default_display() -> Display:
    """Live on a terminal, plain lines elsewhere."""
    console = Console(highlight=False, soft_wrap=True)
    return LiveDisplay(console) if console.is_terminal else PlainDisplay(console)


def _figures(metrics: Mapping[str, float]) -> str:
    parts = []
    for key, form in (
        ("train/success", "success {:.2f}"),
        ("train/return", "return {:+.2f}"),
        ("perf/tokens_per_s", "{:.0f} tokens/s"),
    ):
        if key in metrics:
            parts.append(form.format(metrics[key]))
    return "  ".join(parts)


def _evaluation(step: int, metrics: Mapping[str, Any]) -> str:
    low, high = metrics["eval/success_ci95"]
    return (
        f"eval after step {step}: success {metrics['eval/success']:.3f} [{low:.3f}, {high:.3f}] on "
        f"{metrics['eval/tasks']} held-out tasks, no search"
    )
