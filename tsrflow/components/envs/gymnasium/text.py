"""Observations as short text that depends on nothing but the observation, and what an environment draws in ``ansi``.

Numbers of an array stand in a row with blanks between them, rows under each other; parts of a tuple are separated by
commas, parts of a dictionary are named. Nothing is cut: what would be too long is refused when the environment is made.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
from gymnasium import spaces

MAX_NUMBERS = 1024
"""Numbers that a policy is asked to read; an image has more."""
_COLOURED = re.compile(r"\x1b\[([\d;]+)m(.*?)\x1b\[0?m", re.DOTALL)
_ESCAPE = re.compile(r"\x1b\[[\d;?]*[A-Za-z]")
_COLOURS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")


def unreadable(space: spaces.Space[Any]) -> str:
    """Why observations of ``space`` cannot be put into words, or the empty string."""
    if isinstance(space, spaces.Box | spaces.MultiDiscrete | spaces.MultiBinary):
        size = math.prod(space.shape or ())
        return f"an observation of {size} numbers is too long to read (at most {MAX_NUMBERS})" * (size > MAX_NUMBERS)
    if isinstance(space, spaces.Tuple):
        return next(filter(None, map(unreadable, space.spaces)), "")
    if isinstance(space, spaces.Dict):
        return next(filter(None, map(unreadable, space.spaces.values())), "")
    known = isinstance(space, spaces.Discrete | spaces.Text)
    return "" if known else f"observations of the space {space} have no form in text"


def describe(space: spaces.Space[Any]) -> str:
    """What an observation of ``space`` is, for a system prompt."""
    if isinstance(space, spaces.Discrete):
        return f"a number from {space.start} to {space.start + space.n - 1}"
    if isinstance(space, spaces.Tuple):
        return ", ".join(map(describe, space.spaces))
    if isinstance(space, spaces.Dict):
        return "; ".join(f"{key}: {describe(part)}" for key, part in space.spaces.items())
    if isinstance(space, spaces.Text):
        return "text"
    *rows, last = space.shape or (1,)
    numbers = "a number" if last == 1 else f"{last} numbers"
    return f"{math.prod(rows)} rows of {numbers}" if rows else numbers


def say(observation: Any, space: spaces.Space[Any], digits: int) -> str:
    """``observation`` of ``space`` in words, numbers with ``digits`` decimals where they are no integers."""
    if isinstance(space, spaces.Tuple):
        return ", ".join(say(part, inner, digits) for part, inner in zip(observation, space.spaces, strict=True))
    if isinstance(space, spaces.Dict):
        parts = [f"{key}: {say(observation[key], inner, digits)}" for key, inner in space.spaces.items()]
        return ("\n" if any("\n" in part for part in parts) else "; ").join(parts)
    if isinstance(space, spaces.Text):
        return str(observation)
    array = np.asarray(observation)
    if array.ndim == 0:
        return _number(array, digits)
    rows = array.reshape(-1, array.shape[-1])
    return "\n".join(" ".join(_number(value, digits) for value in row) for row in rows)


def picture(drawn: Any) -> str:
    """An ``ansi`` picture without escape sequences: a coloured part is written as ``red[X]``, so nothing is lost."""
    text = _COLOURED.sub(_marked, str(drawn))
    return "\n".join(line.rstrip() for line in _ESCAPE.sub("", text).splitlines()).strip("\n")


def _marked(match: re.Match[str]) -> str:
    codes = [int(code) for code in match[1].split(";") if code]
    colour = next((_COLOURS[code % 10] for code in codes if code // 10 in (3, 4, 9, 10) and code % 10 < 8), "")
    return f"{colour}[{match[2]}]"


def _number(value: Any, digits: int) -> str:
    if np.issubdtype(value.dtype, np.floating):
        number = round(float(value), digits) + 0.0  # no minus before a zero
        return f"{number:.{digits}f}"
    return str(int(value))
