"""Reads recorded Sokoban walks in the forms that ``sokoban_parity.py`` describes."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tsrflow.components.envs.sokoban.level import (
    BOX,
    BOX_ON_TARGET,
    FLOOR,
    KINDS,
    PLAYER,
    PLAYER_ON_TARGET,
    TARGET,
    WALL,
    XSB,
    Level,
    LevelError,
    parse,
)

NOOP, MOVE_ONLY = "no operation", "move "
CODES = dict(
    enumerate([NOOP, "Up", "Down", "Left", "Right", *(f"{MOVE_ONLY}{d}" for d in ("Up", "Down", "Left", "Right"))])
)
"""gym-sokoban's action numbers; RAGEN's 1 to 4 are the same."""
GYM_KINDS = (WALL, FLOOR, TARGET, BOX_ON_TARGET, BOX, PLAYER)
"""Kind of each number in gym-sokoban's room_state."""
NAMES = {
    "level": ("level", "start", "initial", "initial_board", "room", "map", "room_state"),
    "actions": ("actions", "moves", "action"),
    "rewards": ("rewards", "reward"),
    "boards": ("boards", "states", "observations", "grids", "board", "state", "observation", "grid"),
    "done": ("done", "dones"),
    "terminated": ("terminated", "terminations"),
    "truncated": ("truncated", "truncations"),
    "success": ("success", "successes", "solved", "won"),
    "max_steps": ("max_steps", "max_actions", "step_limit"),
}


class WalkError(ValueError):
    """A record that is no walk."""


@dataclass(frozen=True, slots=True)
class Walk:
    """One episode; lists are as long as ``actions`` or empty where nothing was recorded."""

    level: Level
    drawn: str
    """All cells of the level, as in a level file, unreachable floor included."""
    actions: tuple[str, ...]
    rewards: tuple[float, ...]
    boards: tuple[str, ...]
    """All cells after each action, written like ``drawn``."""
    done: tuple[bool, ...]
    terminated: tuple[bool, ...]
    truncated: tuple[bool, ...]
    success: tuple[bool, ...]
    max_steps: int | None

    @property
    def foreign(self) -> bool:
        """Whether it has actions that RAGEN's four do not cover."""
        return any(action == NOOP or action.startswith(MOVE_ONLY) for action in self.actions)


def records(file: Path) -> list[tuple[str, Any]]:
    """(where, record) of all walks in a file: JSON lines, one JSON list or object, plain or gzipped."""
    raw = file.read_bytes()
    text = (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode("utf-8")
    try:
        whole = json.loads(text)
    except json.JSONDecodeError:
        lines = []
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip():
                try:
                    lines.append((f"{file.name}, line {number}", json.loads(line)))
                except json.JSONDecodeError as error:
                    raise ValueError(f"{file}, line {number}: {error}") from error
        return lines
    if isinstance(whole, Mapping):
        keys = ("walks", "episodes", "cases", "trajectories", "data")
        found = next((whole[key] for key in keys if isinstance(whole.get(key), list)), None)
        levels = whole.get("levels")
        whole = [_with_level(record, levels) for record in found] if found is not None else [whole]
    return [(f"{file.name}, walk {number}", record) for number, record in enumerate(whole)]


def _with_level(record: Any, levels: Any) -> Any:
    """A record whose level is a number or a name in ``levels``, with the level in its place."""
    if isinstance(record, Mapping) and isinstance(levels, (list, Mapping)):
        known = dict(enumerate(levels)) if isinstance(levels, list) else levels
        if isinstance(record.get("level"), (int, str)) and record["level"] in known:
            return {**record, "level": known[record["level"]]}
    return record


def read_walk(record: Any) -> Walk:
    """The walk in one record. Raises WalkError where it is none."""
    if not isinstance(record, Mapping):
        raise WalkError(f"a record must be an object, not {type(record).__name__}")
    record = _columns(record)
    rows = _rows(_part(record, "level"), record.get("room_fixed"))
    try:
        level = parse(rows)
    except LevelError as error:
        raise WalkError(f"level: {error}") from error
    drawn = "".join(rows)
    actions = tuple(_action(a, record.get("lookup")) for a in _actions(_part(record, "actions")))
    boards = [_board(board, record.get("room_fixed"), level) for board in _list(record, "boards")]
    if len(boards) == len(actions) + 1:
        if boards[0] != drawn:
            raise WalkError("the first of the boards is not the level")
        boards = boards[1:]
    flags = {name: _flags(record, name, len(actions)) for name in ("done", "terminated", "truncated", "success")}
    limit = _part(record, "max_steps", None)
    try:
        rewards = tuple(float(reward) for reward in _list(record, "rewards"))
        walk = Walk(
            level, drawn, actions, rewards, tuple(boards), **flags, max_steps=None if limit is None else int(limit)
        )
    except (TypeError, ValueError) as error:
        raise WalkError(f"rewards and max_steps must be numbers: {error}") from error
    for name in ("rewards", "boards", *flags):
        if len(getattr(walk, name)) not in (0, len(actions)):
            raise WalkError(f"{len(getattr(walk, name))} {name} for {len(actions)} actions")
    return walk


def _flags(record: Mapping[str, Any], name: str, steps: int) -> tuple[bool, ...]:
    """One flag per step; a single one is that of the last step, all others being False."""
    value = _part(record, name, [])
    if isinstance(value, bool):
        value = [*[False] * (steps - 1), value][:steps]
    if not isinstance(value, list):
        raise WalkError(f"{name} is {type(value).__name__}, not a list")
    return tuple(bool(flag) for flag in value)


def _columns(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """A record with a list of steps as one with lists of actions, rewards and so on."""
    steps = record.get("steps")
    if not isinstance(steps, list) or not all(isinstance(step, Mapping) for step in steps):
        return record
    columns: dict[str, Any] = dict(record)
    for name, aliases in NAMES.items():
        values = [next((step[alias] for alias in aliases if alias in step), None) for step in steps]
        if name not in ("level", "max_steps") and values and None not in values:
            columns[name] = values
    return columns


def _part(record: Mapping[str, Any], name: str, default: Any = ...) -> Any:
    for alias in NAMES[name]:
        if alias in record:
            return record[alias]
    if default is ...:
        raise WalkError(f"no {name}; looked for {', '.join(NAMES[name])}")
    return default


def _list(record: Mapping[str, Any], name: str) -> list[Any]:
    value = _part(record, name, [])
    if not isinstance(value, list):
        raise WalkError(f"{name} is {type(value).__name__}, not a list")
    return value


def _actions(value: Any) -> Sequence[Any]:
    if not isinstance(value, str):
        return list(value)
    for separator in ("||", ",", " "):
        if separator in value.strip():
            return [part.strip() for part in value.split(separator) if part.strip()]
    return list(value)


def _action(value: Any, lookup: Mapping[str, str] | None) -> str:
    if lookup and str(value) in lookup:
        value = lookup[str(value)]
    text = str(value).strip().lower().replace("_", " ")
    if text.isdigit() and int(text) in CODES:
        return CODES[int(text)]
    if text in ("no operation", "noop", "no op", "none", "stay"):
        return NOOP
    words = {name.lower(): name for name in ("Up", "Down", "Left", "Right")} | dict(
        zip("udlr", ("Up", "Down", "Left", "Right"), strict=True)
    )
    prefix = next((p for p in ("push ", "move ") if text.startswith(p)), "")
    if text[len(prefix) :] in words:
        return (MOVE_ONLY if prefix == "move " else "") + words[text[len(prefix) :]]
    raise WalkError(
        f"unknown action {value!r}; known are 0 to 8, Up, Down, Left, Right, u, d, l, r, push up, move up, …"
    )


def _board(board: Any, fixed: Any, level: Level) -> str:
    rows = _rows(board, fixed)
    if len(rows) != level.height or any(len(row) != level.width for row in rows):
        raise WalkError(f"a board is not of the level's {level.height} rows and {level.width} columns")
    return "".join(rows)


def _rows(board: Any, fixed: Any) -> list[str]:
    """Rows as in a level file from text, from a list of texts, or from gym-sokoban's numbers."""
    rows = board.strip("\n").split("\n") if isinstance(board, str) else board
    if not isinstance(rows, list) or not rows:
        raise WalkError("a board must be text or a list of rows")
    if all(isinstance(row, str) for row in rows):
        return _drawn_rows([row.rstrip("\r") for row in rows])
    try:
        kinds = [[GYM_KINDS[int(number)] for number in row] for row in rows]
        below = [[int(number) for number in row] for row in (fixed or rows)]
        return [
            "".join(XSB[PLAYER_ON_TARGET if kind == PLAYER and under == 2 else kind] for kind, under in pairs)
            for pairs in (zip(row, under_row, strict=True) for row, under_row in zip(kinds, below, strict=True))
        ]
    except (TypeError, ValueError, IndexError) as error:
        raise WalkError("a board of numbers must hold gym-sokoban's 0 to 5, room_fixed of the same shape") from error


def _drawn_rows(rows: list[str]) -> list[str]:
    if all(len(row) > 1 and set(row[1::2]) == {" "} and " " not in row[::2] for row in rows):
        rows = [row[::2] for row in rows]  # symbols separated by blanks
    strange = next((symbol for row in rows for symbol in row if symbol not in KINDS), None)
    if strange is not None:
        raise WalkError(f"unknown symbol {strange!r}")
    width = max(map(len, rows))
    return ["".join(XSB[KINDS[symbol]] for symbol in row.ljust(width, "#")) for row in rows]
