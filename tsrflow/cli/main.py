"""``tsrflow``: verbs first, everything else is Hydra's ``key=value``.

Whatever is wrong with a command line is said before any work, in one message, with exit code 2.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

from tsrflow import __version__
from tsrflow.errors import ConfigError, TsrflowError, nearest

VERBS = {
    "components": "list registered components, or those of one kind",
    "warmup": "make a tiny model from scripted play",
}
_HYDRAS_OWN = ("--help", "-h", "--hydra-help", "--info", "-i", "--cfg", "-c", "--shell-completion", "-sc", "--package")


def main(argv: Sequence[str] | None = None) -> None:
    """Run one command line; ends with ``SystemExit`` unless all went well."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        _dispatch(arguments)
    except TsrflowError as error:
        print(f"tsrflow: {error}", file=sys.stderr)
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
            raise ConfigError(f"{first}: no such verb; known: {', '.join(VERBS)}{nearest(first, VERBS)}")
        importlib.import_module(f"tsrflow.cli.{first}").main(arguments[1:])
        return
    from tsrflow.cli.train import train

    train(arguments, asks_hydra=any(a.split("=")[0] in _HYDRAS_OWN for a in arguments))
