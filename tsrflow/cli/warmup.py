"""``tsrflow warmup out=FOLDER [key=value ...]``: make a tiny model as the packaged one was made."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from tsrflow.errors import ConfigError, nearest


def main(arguments: Sequence[str]) -> None:
    """Keys: ``out`` (required), any of WarmupSettings, and ``env.*`` of the run config.

    Raises ConfigError for a key or value that is none of these.
    """
    from tsrflow.cli.preflight import preflight
    from tsrflow.config import compose
    from tsrflow.training.assemble import build, build_prompter
    from tsrflow.training.warmup import WarmupSettings, warm_up

    settings = {field.name: field for field in dataclasses.fields(WarmupSettings)}
    chosen: dict[str, float | int] = {}
    overrides: list[str] = []
    out = None
    for argument in arguments:
        key, separator, value = argument.partition("=")
        if key == "out" and value:
            out = Path(value)
        elif key in settings and separator:
            chosen[key] = _number(key, value, settings[key].default)
        elif key == "env" or key.startswith("env."):
            overrides.append(argument)
        else:
            known = ["out", "env", *settings]
            raise ConfigError(f"warmup {argument}: unknown; known: {', '.join(known)}{nearest(key, known)}")
    if out is None:
        raise ConfigError("warmup: say where to write the model: out=FOLDER")
    compose.register()
    (job,) = preflight(overrides)
    env = build("env", job.config.env)
    prompter = build_prompter(job.config, env, brief=True)
    warm_up(env, prompter, job.config.env, WarmupSettings(**chosen), out)  # type: ignore[arg-type]


def _number(key: str, value: str, default: object) -> float | int:
    kind = int if isinstance(default, int) else float
    try:
        return kind(value)
    except ValueError:
        raise ConfigError(f"warmup {key}={value}: must be {'a whole number' if kind is int else 'a number'}") from None
