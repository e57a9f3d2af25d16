"""Replay recorded Sokoban walks and count every difference of boards, rewards and ends.

    python benchmarks/sokoban_parity.py GOLDEN… [--json FILE] [--markdown FILE]

GOLDEN is a file (or a folder of files) of JSON lines, a JSON list, or {"walks": [...]}, plain or gzipped. A walk is

    {"level": "#####\\n#@$.#\\n#####", "actions": [4], "rewards": [10.9], "boards": ["#####\\n# @*#\\n#####"],
     "done": [true], "success": [true], "max_steps": 30}

with ``level`` and ``actions`` required and the rest compared where it is there. Levels and boards are text or lists of
rows in level files' alphabet (# . $ * @ + blank) or RAGEN's (# _ O X √ P S), or gym-sokoban's numbers (then with
``room_fixed`` beside them). ``boards`` hold the board after each action, or the first board as well. Actions are
gym-sokoban's numbers, names (``Up``, ``push up``), letters or one string of them (``"urd"``, ``"Up || Down"``); a
``lookup`` object may name others. ``done`` may be split into ``terminated`` and ``truncated``; instead of lists there
may be ``steps``, a list of objects with ``action``, ``reward``, ``board`` and so on.

Exit status 1 where a difference is not one of the explained ones, 2 where a file cannot be read.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sokoban_walks import MOVE_ONLY, NOOP, Walk, WalkError, read_walk, records

from tsrflow.components.envs.sokoban import Sokoban, SokobanConfig
from tsrflow.components.envs.sokoban.level import KINDS, XSB
from tsrflow.types import Task

EXPLAINED = {
    "no operation": "gym-sokoban's action 0 has no counterpart here: RAGEN's four actions are all there are. Where it "
    "was recorded the board must stay, the reward must be -0.1, and no step is played here.",
    "move without push": "gym-sokoban's actions 5 to 8 never push. They are replayed as the plain action where no box "
    "is in the way; against a box nothing may move, the reward must be -0.1, and no step is played here.",
    "boxes on targets at the start": "gym-sokoban starts counting at 0 even where boxes begin on targets, so its first "
    "step is off by the 1 per step that it pays for a change of that count. Here the count starts where the boxes are. "
    "gym-sokoban's own generator never makes such levels.",
    "step limit unknown": "The walk was cut without success and does not say its step limit.",
    "after the end": "Steps that were recorded after the level was solved or the limit reached are not compared.",
}
_NEAR = 1e-6
_NO_LIMIT = 1_000_000
_SHOWN = 5


@dataclass(slots=True)
class Counts:
    """What replaying a file gave."""

    file: str
    walks: int = 0
    steps: int = 0
    solved: int = 0
    compared: Counter[str] = field(default_factory=Counter)
    explained: Counter[str] = field(default_factory=Counter)
    unexplained: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)

    def compare(self, kind: str, where: str, ours: Any, theirs: Any) -> bool:
        """Count one comparison; False where it differs."""
        self.compared[kind] += 1
        same = abs(ours - theirs) < _NEAR if kind == "reward" else bool(ours == theirs)
        if not same:
            self.differs(kind, f"{where}: {kind} is {ours!r} here, recorded {theirs!r}")
        return same

    def plain(self) -> dict[str, Any]:
        """All figures for JSON."""
        return {
            "file": self.file,
            "walks": self.walks,
            "steps": self.steps,
            "solved": self.solved,
            "compared": dict(self.compared),
            "explained": dict(+self.explained),
            "unexplained": dict(self.unexplained),
            "examples": self.examples,
        }

    def differs(self, kind: str, example: str) -> None:
        self.unexplained[kind] += 1
        if len(self.examples) < _SHOWN:
            self.examples.append(example if len(example) < 300 else f"{example[:300]}…")


def replay(file: Path) -> Counts:
    """All walks of one file, their levels read through ``env.levels``."""
    counts = Counts(file.name)
    walks: list[tuple[str, Walk]] = []
    for where, record in records(file):
        counts.walks += 1
        try:
            walks.append((where, read_walk(record)))
        except WalkError as error:
            counts.differs("record", f"{where}: {error}")
    with tempfile.TemporaryDirectory() as folder:
        levels = Path(folder) / "levels.txt"
        levels.write_text("".join(f"{walk.level.text()}\n\n" for _, walk in walks), encoding="utf-8")
        for number, (where, walk) in enumerate(walks):
            limit = _NO_LIMIT if walk.max_steps is None or walk.foreign else walk.max_steps
            env = Sokoban(SokobanConfig(levels=str(levels), max_actions=limit))
            env.reset(Task("sokoban", "train", number, number))
            replay_walk(env, walk, where, counts)
    return counts


def replay_walk(env: Sokoban, walk: Walk, where: str, counts: Counts) -> None:
    """Play one walk from its start; the rest of it is left out after the end or where boards differ."""
    for number, action in enumerate(walk.actions):
        at = f"{where}, step {number} ({action})"
        counts.steps += 1
        before = _on_target(env)
        reward, terminated, truncated = _play(env, action, counts)
        if number == 0 and before and walk.rewards:
            quirk = reward + _sign(_on_target(env)) - _sign(_on_target(env) - before)
            if abs(quirk - walk.rewards[0]) < _NEAR <= abs(quirk - reward):
                counts.explained["boxes on targets at the start"] += 1
                reward = quirk
        if walk.boards and not counts.compare("board", at, _board(env, walk), walk.boards[number]):
            return
        if walk.rewards:
            counts.compare("reward", at, reward, walk.rewards[number])
        if _cut_here(walk, number) and not terminated and not truncated:
            counts.explained["step limit unknown"] += walk.max_steps is None
            truncated = walk.max_steps is None or walk.max_steps == number + 1
        for kind, recorded, ours in (
            ("done", walk.done, terminated or truncated),
            ("terminated", walk.terminated, terminated),
            ("truncated", walk.truncated, truncated),
            ("success", walk.success, terminated),
        ):
            if recorded:
                counts.compare(kind, at, ours, recorded[number])
        counts.solved += terminated
        if terminated or truncated:
            counts.explained["after the end"] += len(walk.actions) - number - 1
            return


def _cut_here(walk: Walk, number: int) -> bool:
    """Whether the recording ends the walk here and our step limit could not."""
    ends = (walk.done and walk.done[number]) or (walk.truncated and walk.truncated[number])
    return bool(ends) and (walk.max_steps is None or walk.foreign)


def _play(env: Sokoban, action: str, counts: Counts) -> tuple[float, bool, bool]:
    """(reward, terminated, truncated) of one recorded action."""
    if action == NOOP:
        counts.explained["no operation"] += 1
        return -0.1, False, False
    kept, boxes = env.snapshot(), env.boxes
    _, reward, terminated, truncated, _ = env.step(action.removeprefix(MOVE_ONLY))
    if action.startswith(MOVE_ONLY) and env.boxes != boxes:
        env.restore(kept)
        counts.explained["move without push"] += 1
        return -0.1, False, False
    return reward, terminated, truncated


def _on_target(env: Sokoban) -> int:
    return len(set(env.boxes) & set(env.level.targets))


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)


def _board(env: Sokoban, walk: Walk) -> str:
    """All cells as in a level file; those that nothing can reach are as they were drawn."""
    inside = set(env.level.floor)
    shown = [KINDS[symbol] for row in env.render_ansi().split("\n") for symbol in row]
    return "".join(XSB[kind] if cell in inside else walk.drawn[cell] for cell, kind in enumerate(shown))


def show(counts: Counts) -> None:
    """Print one file's counts and deviations."""
    print(f"{counts.file}: {counts.walks} walks, {counts.steps} steps, {counts.solved} solved")
    for kind, compared in counts.compared.items():
        print(f"  {kind:12} {compared:8} comparisons  {counts.unexplained[kind]:6} unexplained")
    for reason, count in counts.explained.items():
        if count:
            print(f"  explained: {reason}: {count}")
    for kind, count in counts.unexplained.items():
        print(f"  UNEXPLAINED: {kind}: {count}")
    for example in counts.examples:
        print(f"    {example}")


_INTRODUCTION = """# Sokoban: how close to gym-sokoban

This page is written by `python benchmarks/sokoban_parity.py GOLDEN… --markdown docs/sokoban_parity.md`; do not edit it
by hand. It replays walks recorded in gym-sokoban 0.0.6 (`benchmarks/sokoban_golden.py`) in `env=sokoban`, their levels
read as a level file, and compares the board, the reward and the end after every step.
"""
_DELIBERATE = """
## Deliberate differences

- Four actions, as in RAGEN: each walks, or pushes where a box is in the way. gym-sokoban's separate moves and its
  no-operation have no counterpart.
- An action that changes nothing (a wall or a box that cannot move is in the way) costs a step and -0.1 as there, and
  `info["effective"]` is False. Text that is no action costs nothing and sets `info["invalid"]`.
- Levels come from tsrflow's own generator, not from gym-sokoban's: every level has a solution within the episode's
  actions, which the original does not look at.
- The end by the step limit is `truncated`, never `terminated`.
"""


def markdown(results: list[Counts]) -> str:
    """The docs page."""
    parts = [_INTRODUCTION, "| recordings | walks | steps | solved | comparisons | explained | unexplained |"]
    parts.append("|---|---:|---:|---:|---:|---:|---:|")
    for r in results:
        sums = f"{r.compared.total()} | {r.explained.total()} | {r.unexplained.total()}"
        parts.append(f"| {r.file} | {r.walks} | {r.steps} | {r.solved} | {sums} |")
    parts.append("\n## Explained deviations\n")
    for reason, text in EXPLAINED.items():
        met = "" if any(r.explained[reason] for r in results) else " (none in these recordings)"
        parts.append(f"- **{reason}**{met}: {text}")
    return "\n".join([*parts, _DELIBERATE])


def main() -> int:
    """Replay the files of the command line."""
    parser = argparse.ArgumentParser(description="Replay recorded Sokoban walks.")
    parser.add_argument("goldens", nargs="+", type=Path, metavar="GOLDEN")
    parser.add_argument("--json", type=Path, help="write the counts to this file")
    parser.add_argument("--markdown", type=Path, help="write the docs page to this file")
    options = parser.parse_args()
    began = time.perf_counter()
    results = []
    try:
        for golden in options.goldens:
            files = sorted(f for f in golden.iterdir() if ".json" in f.name) if golden.is_dir() else [golden]
            for file in files:
                results.append(replay(file))
                show(results[-1])
    except (OSError, EOFError, ValueError) as error:
        print(f"sokoban_parity: {type(error).__name__}: {error}", file=sys.stderr)
        return 2
    compared, unexplained = (sum(getattr(r, n).total() for r in results) for n in ("compared", "unexplained"))
    explained = sum(r.explained.total() for r in results)
    verdict = "PASS" if compared and not unexplained else "FAIL"
    if options.json:
        seconds = round(time.perf_counter() - began, 2)
        report = {"verdict": verdict, "seconds": seconds, "results": [r.plain() for r in results]}
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    if options.markdown:
        options.markdown.write_text(markdown(results), encoding="utf-8")
    print(f"{verdict}: {compared} comparisons, {unexplained} unexplained deviations, {explained} explained")
    return 0 if verdict == "PASS" else 1


if __name__ == "__main__":
    sys.exit(main())
