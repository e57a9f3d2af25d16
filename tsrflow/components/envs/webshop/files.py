"""The original's data files: which ones belong together, and reading them element by element.

``items_shuffle<S>.json`` (a list of 5 GB in the full data) and ``items_ins_v2<S>.json`` share their suffix ``<S>``
(``_1000`` or nothing); ``items_human_ins.json`` and ``title_nouns.jsonl`` are optional; each may be gzipped. Nothing is
ever held whole: elements are decoded one by one from a sliding window of text.
"""

from __future__ import annotations

import gzip
import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from tsrflow.errors import ConfigError

_ITEMS = re.compile(r"items_shuffle(?P<suffix>.*)\.json(\.gz)?")
_CHUNK = 1 << 20
_LONGEST_CUT = 3
"""Characters that must follow a number before it is known to be over: ``1`` may become ``1e+5``."""
_SPACE = re.compile(r"[ \t\n\r]*")


@dataclass(frozen=True, slots=True)
class DataFiles:
    """Paths of one data set."""

    items: Path
    instructions: Path
    human: Path | None
    nouns: Path | None

    def present(self) -> list[Path]:
        """Those that there are."""
        return [path for path in (self.items, self.instructions, self.human, self.nouns) if path is not None]


def locate(data: str) -> DataFiles:
    """The files that ``env.data=data`` means. Raises ConfigError where one is missing or the choice is not clear."""
    path = Path(data).expanduser()
    if path.is_dir():
        found = sorted(p for p in path.iterdir() if _ITEMS.fullmatch(p.name))
        if not found:
            raise ConfigError(f"env.data={data}: the folder holds no items_shuffle*.json (plain or .gz)")
        if len(found) > 1:
            names = ", ".join(p.name for p in found)
            raise ConfigError(f"env.data={data}: the folder holds {names}; give the path of the one to read")
        items = found[0]
    elif path.exists():
        items = path
    else:
        raise ConfigError(f"env.data={data}: no such file or folder")
    match = _ITEMS.fullmatch(items.name)
    if match is None:
        raise ConfigError(f"env.data={data}: a data file must be named items_shuffle*.json or items_shuffle*.json.gz")
    wanted = f"items_ins_v2{match['suffix']}.json"
    instructions = _beside(items, wanted)
    if instructions is None:
        raise ConfigError(f"env.data={data}: {wanted} (plain or .gz) is missing beside {items.name}")
    return DataFiles(items, instructions, _beside(items, "items_human_ins.json"), _beside(items, "title_nouns.jsonl"))


def _beside(items: Path, name: str) -> Path | None:
    return next((p for p in (items.with_name(name), items.with_name(f"{name}.gz")) if p.is_file()), None)


def open_text(path: Path) -> TextIO:
    """``path`` as UTF-8 text, unzipped where its name ends in .gz."""
    if path.suffix == ".gz":
        return io.TextIOWrapper(gzip.open(path, "rb"), encoding="utf-8")
    return path.open(encoding="utf-8")


def elements(path: Path) -> Iterator[Any]:
    """Elements of the JSON list in ``path``. Raises ConfigError where it is not one."""
    for _, value in _scan(path, "["):
        yield value


def members(path: Path) -> Iterator[tuple[str, Any]]:
    """(key, value) of the JSON object in ``path``. Raises ConfigError where it is not one."""
    for key, value in _scan(path, "{"):
        yield str(key), value


def lines(path: Path) -> Iterator[Any]:
    """The JSON values in the lines of ``path``. Raises ConfigError where a line is none."""
    with _readable(path) as stream:
        for number, line in enumerate(stream, start=1):
            try:
                yield json.loads(line)
            except json.JSONDecodeError as error:
                raise ConfigError(f"env.data: {path}, line {number} is not valid JSON: {error.msg}") from error


class _readable:  # noqa: N801  (used as a function)
    """Opens ``path``; reading errors of every sort become one ConfigError."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> TextIO:
        try:
            self._stream = open_text(self._path)
        except OSError as error:
            raise ConfigError(f"env.data: cannot read {self._path}: {error.strerror or error}") from error
        return self._stream

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        self._stream.close()
        if isinstance(error, UnicodeDecodeError):
            raise ConfigError(f"env.data: {self._path} is not UTF-8 text") from error
        if isinstance(error, OSError | EOFError):
            raise ConfigError(f"env.data: cannot read {self._path}: {error}") from error


def _scan(path: Path, opening: str) -> Iterator[tuple[Any, Any]]:
    """(key or None, value) of every element of the list or object that is all of ``path``."""
    closing = "]" if opening == "[" else "}"
    with _readable(path) as stream:
        window = _Window(path, stream)
        if window.next_character() != opening:
            raise window.fault(f"it must hold a JSON {'list' if opening == '[' else 'object'}")
        window.skip()
        first = True
        while (character := window.next_character()) != closing:
            if not first:
                if character != ",":
                    raise window.fault(f"expected ',' or '{closing}'")
                window.skip()
            first = False
            key = None
            if opening == "{":
                key = window.value()
                if not isinstance(key, str) or window.next_character() != ":":
                    raise window.fault("expected a text key and ':'")
                window.skip()
            yield key, window.value()
        window.skip()
        if window.next_character():
            raise window.fault("text follows the end of the JSON value")


class _Window:
    """The part of a text stream that is being decoded."""

    def __init__(self, path: Path, stream: TextIO) -> None:
        self._path = path
        self._stream = stream
        self._text = ""
        self._at = 0
        self._passed = 0
        self._ended = False
        self._decode = json.JSONDecoder().raw_decode

    def next_character(self) -> str:
        """The next character that is no white space, not consumed; empty at the end of the file."""
        while True:
            self._at = _SPACE.match(self._text, self._at).end()  # type: ignore[union-attr]  # matches anything
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._grow(_CHUNK):
                return ""

    def skip(self) -> None:
        """Consume the next character."""
        self._at += 1

    def value(self) -> Any:
        """Decode and consume the next JSON value."""
        self.next_character()
        more = _CHUNK
        while True:
            try:
                value, end = self._decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if self._grow(more):
                    more *= 2
                    continue
                raise self.fault(error.msg) from error
            if len(self._text) - end < _LONGEST_CUT and self._grow(more):
                continue  # a number at the edge of the window may go on
            self._at = end
            return value

    def fault(self, what: str) -> ConfigError:
        """The error that says where and why the file is not valid."""
        place = self._passed + self._at
        return ConfigError(f"env.data: {self._path} is not valid JSON near character {place}: {what}")

    def _grow(self, size: int) -> bool:
        """Read on, forgetting what is consumed; False, and nothing changes, at the end of the file."""
        if self._ended:
            return False
        more = self._stream.read(size)
        if not more:
            self._ended = True
            return False
        self._passed += self._at
        self._text, self._at = self._text[self._at :] + more, 0
        return True
