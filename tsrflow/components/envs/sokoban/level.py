"""A Sokoban level, and its text in the two usual alphabets.

Cells are numbers, row * width + column. The outermost cells are walls, so a neighbour of a floor cell is always a cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

WALL, FLOOR, TARGET, BOX, BOX_ON_TARGET, PLAYER, PLAYER_ON_TARGET = range(7)
RAGEN = "#_OX√PS"
"""One symbol per kind of cell, as policies see them."""
XSB = "# .$*@+"
"""The same kinds in the alphabet of level files."""
KINDS = {symbol: kind for alphabet in (RAGEN, XSB, "#-") for kind, symbol in enumerate(alphabet)}
"""Kind of each symbol of both alphabets; ``-`` is floor as well."""


@dataclass(frozen=True, slots=True)
class Level:
    """Cells as sorted tuples of numbers; what is not ``floor`` is wall. As many boxes as targets."""

    height: int
    width: int
    floor: tuple[int, ...]
    targets: tuple[int, ...]
    boxes: tuple[int, ...]
    player: int

    def text(self, alphabet: str = XSB) -> str:
        """Rows of symbols, separated by newlines."""
        return show(self, self.player, self.boxes, alphabet)

    def name(self, cell: int) -> str:
        """``row,column``."""
        return f"{cell // self.width},{cell % self.width}"


class LevelError(ValueError):
    """What is wrong with a level; ``row`` counts from 0, None where it is the level as a whole."""

    def __init__(self, message: str, row: int | None = None) -> None:
        super().__init__(message)
        self.row = row


def show(level: Level, player: int, boxes: Sequence[int], alphabet: str = RAGEN) -> str:
    """The rows of ``level`` with player and boxes elsewhere."""
    symbols = [alphabet[WALL]] * (level.height * level.width)
    for cell in level.floor:
        symbols[cell] = alphabet[FLOOR]
    for cell in level.targets:
        symbols[cell] = alphabet[TARGET]
    for cell in boxes:
        symbols[cell] = alphabet[BOX_ON_TARGET if cell in level.targets else BOX]
    symbols[player] = alphabet[PLAYER_ON_TARGET if player in level.targets else PLAYER]
    width = level.width
    return "\n".join("".join(symbols[row * width : (row + 1) * width]) for row in range(level.height))


def parse(rows: Sequence[str]) -> Level:
    """The level drawn by ``rows`` in either alphabet; short rows are filled with walls.

    Floor that neither the player, a box nor a target can be on is wall, whatever it is drawn as. Raises LevelError.
    """
    width = max(map(len, rows), default=0)
    cells: dict[int, int] = {}
    for number, row in enumerate(rows):
        for column, symbol in enumerate(row):
            kind = KINDS.get(symbol)
            if kind is None:
                raise LevelError(
                    f"unknown symbol {symbol!r} in column {column + 1}; known are # . $ * @ + and blank", number
                )
            if kind != WALL:
                cells[number * width + column] = kind
    players = [cell for cell, kind in cells.items() if kind in (PLAYER, PLAYER_ON_TARGET)]
    targets = [cell for cell, kind in cells.items() if kind in (TARGET, BOX_ON_TARGET, PLAYER_ON_TARGET)]
    boxes = [cell for cell, kind in cells.items() if kind in (BOX, BOX_ON_TARGET)]
    if len(players) != 1:
        raise LevelError(f"{len(players)} players; a level has one")
    if not boxes or len(boxes) != len(targets):
        raise LevelError(f"{len(boxes)} boxes and {len(targets)} targets; there must be as many of both, at least one")
    inside = _connected(set(cells), [*players, *boxes, *targets], width)
    for cell in sorted(inside):
        line, column = divmod(cell, width)
        for r, c in ((line - 1, column), (line + 1, column), (line, column - 1), (line, column + 1)):
            if not (0 <= r < len(rows) and 0 <= c < len(rows[r])):
                raise LevelError(f"the wall around the level is open in column {column + 1}", line)
    return Level(len(rows), width, tuple(sorted(inside)), tuple(sorted(targets)), tuple(sorted(boxes)), players[0])


def _connected(cells: set[int], starts: Sequence[int], width: int) -> set[int]:
    """Those of ``cells`` that can be walked to from ``starts``; never beyond a row's end that holds no cell."""
    inside, pending = set(starts), list(starts)
    while pending:
        cell = pending.pop()
        column = cell % width
        near = [cell - width, cell + width]
        near += [cell - 1] if column else []
        near += [cell + 1] if column < width - 1 else []
        for other in near:
            if other in cells and other not in inside:
                inside.add(other)
                pending.append(other)
    return inside
