"""Reads level files in Boxoban's text format: a line ``; 0``, ten rows, a blank line, and so on.

Levels of other sizes, other comment lines and files without comments are read as well, plain or gzipped.
"""

from __future__ import annotations

import gzip
import re
import zlib
from functools import lru_cache
from pathlib import Path

from tsrflow.components.envs.sokoban.level import Level, LevelError, parse

_COMMENT = re.compile(r"\s*(?:;|//|\d+\s*$|level\b|[a-z][\w ]*:)", re.IGNORECASE)


def load_levels(path: str) -> tuple[Level, ...]:
    """All levels of a file, or of the ``*.txt`` and ``*.txt.gz`` files of a folder in order of name.

    Raises ValueError with file and line number where something is no level.
    """
    place = Path(path).expanduser()
    files = [place]
    if place.is_dir():
        files = sorted(file for file in place.iterdir() if file.name.endswith((".txt", ".txt.gz")))
        if not files:
            raise ValueError(f"{path}: the folder has no *.txt or *.txt.gz file")
    try:
        stamps = tuple((str(file), file.stat().st_mtime_ns, file.stat().st_size) for file in files)
    except OSError as error:
        raise ValueError(f"{path}: cannot be read: {error.strerror}") from error
    return _load(stamps)


@lru_cache(maxsize=16)
def _load(stamps: tuple[tuple[str, int, int], ...]) -> tuple[Level, ...]:
    """The levels of files; their times and sizes are there to read changed files again."""
    return tuple(level for file, _, _ in stamps for level in read_levels(Path(file)))


def read_levels(file: Path) -> list[Level]:
    """The levels of one file; raises ValueError as ``load_levels`` does."""
    try:
        raw = file.read_bytes()
        if raw[:2] == b"\x1f\x8b":
            raw = gzip.decompress(raw)
        lines = raw.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        bad = raw.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{file}, line {bad}: not UTF-8 text; expected levels in Boxoban's format") from error
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{file}: cannot be read: {error}") from error
    levels: list[Level] = []
    rows: list[str] = []
    for number, line in enumerate([*lines, ""], 1):
        row = line.rstrip()
        drawn = bool(row) and not _COMMENT.match(row)
        if drawn:
            rows.append(row)
        elif rows:
            levels.append(_level(rows, number - len(rows), file))
            rows = []
    if not levels:
        raise ValueError(f"{file}: no level found; expected rows of {' '.join('#.$*@+')} and blanks")
    return levels


def _level(rows: list[str], first: int, file: Path) -> Level:
    try:
        return parse(rows)
    except LevelError as error:
        raise ValueError(f"{file}, line {first + (error.row or 0)}: {error}") from error
