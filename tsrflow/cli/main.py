"""``tsrflow``: verbs first, everything else is Hydra's ``key=value``.

Whatever is wrong with a command line is said before any work, in one message, with exit code 2.
"""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from collections.abc import Sequence

from tsrflow import __version__
from tsrflow.cli.verbs import VERBS
from tsrflow.errors import ConfigError, TsrflowError, nearest

_THREADS_SLEEP = {"OMP_WAIT_POLICY": "PASSIVE", "KMP_BLOCKTIME": "0"}
"""Read by OpenMP when torch is imported: threads that wait sleep instead of spinning, which on a machine that does
anything else at the same time costs several times the work itself."""


def main(argv: Sequence[str] | None = None) -> None:
    """Run one command line; ends with ``SystemExit`` unless all went well."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    for name, value in _THREADS_SLEEP.items():
        os.environ.setdefault(name, value)
    try:
        _report_plugins()
        _dispatch(arguments)
    except TsrflowError as error:
        for line in str(error).splitlines():
            print(f"tsrflow: {line}", file=sys.stderr)
        raise SystemExit(error.exit_code) from None
    except KeyboardInterrupt:
        print("tsrflow: interrupted", file=sys.stderr)
        raise SystemExit(130) from None


def _dispatch(arguments: list[str]) -> None:
    if arguments[:1] == ["--version"]:
        print(f"tsrflow {__version__}")
        return
    first = arguments[0] if arguments else ""
    if first and "=" not in first and not first.startswith(("-", "~", "+")):
        if first not in VERBS:
            known = f"verbs are {', '.join(VERBS)}; settings are key=value"
            raise ConfigError(f"{first}: no such verb; {known}{nearest(first, VERBS)}")
        importlib.import_module(f"tsrflow.cli.{first}").main(arguments[1:])
        return
    from tsrflow.cli.train import train

    train(arguments)


def _report_plugins() -> None:
    """Load the registry now, so that a skipped plugin is reported once and in one line."""
    from tsrflow.registry import PluginWarning, registry

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", PluginWarning)
        registry()
    for warning in caught:
        if issubclass(warning.category, PluginWarning):
            print(f"tsrflow: warning: {warning.message}", file=sys.stderr)
