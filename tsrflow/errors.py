"""The two errors a user can meet; the command line prints them as one message without a traceback."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class TsrflowError(Exception):
    """Base of all errors that tsrflow raises on purpose."""

    exit_code = 1


class ConfigError(TsrflowError):
    """What the user asked for cannot be: found before any work starts."""

    exit_code = 2


class RunError(TsrflowError):
    """A run cannot go on (unreadable model, full disk, loss that is not a number)."""


def nearest(name: str, known: Iterable[str]) -> str:
    """``"; did you mean 'beam'?"`` for the closest of ``known``, or the empty string."""
    match = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"; did you mean {match[0]!r}?" if match else ""
