"""The text of ``tsrflow --help``, made from the registry and the config classes."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from tsrflow.cli.verbs import VERBS
from tsrflow.config import compose
from tsrflow.config.fields import show
from tsrflow.config.schema import RunConfig
from tsrflow.errors import ConfigError
from tsrflow.registry import KINDS

_WIDTH = 110
_USAGE = """\
tsrflow trains LLM agents over many turns, with trajectory search while rollouts are generated.

usage: tsrflow [key=value ...]        train
       tsrflow -m [key=a,b ...]       train every combination, one fresh process per job
       tsrflow VERB ...               see below"""
_EXAMPLES = """\
examples:
  tsrflow                                                train the default agent
  tsrflow search=lookahead search.depth=3 seed=2         another strategy and its settings
  tsrflow -m search=bon,beam optimizer=ppo,grpo          a grid of four jobs
  tsrflow -m seed=1,2,3 hydra.launcher.n_jobs=2          two jobs at a time
  tsrflow hydra.run.dir=runs/mine trainer.max_steps=500  another run folder
  tsrflow --cfg job search=bon                           show the composed config
  tsrflow components scorer                              what each setting means and takes"""


def help_text(overrides: Sequence[str]) -> str:
    """Verbs, kinds with their options, the keys that exist with ``overrides``, and examples.

    Raises ConfigError where ``overrides`` do not compose.
    """
    from tsrflow.cli.preflight import check_composition

    check_composition(overrides)
    with compose.initialised():
        groups = {group: compose.options(group) for group in (*KINDS, "experiment")}
        config = compose.plain(compose.compose(overrides))
    lines = [_USAGE, "", "components and presets (KIND=NAME; plugins included):"]
    lines += [_row(f"{group}=", ", ".join(names)) for group, names in groups.items()]
    lines += ["", "keys and their values (KEY=VALUE), with these choices:"]
    lines += [_row(f"{name}.", _settings(config[name])) for name in (*KINDS, "rollout", "trainer", "eval")]
    lines += [_row("", _settings({key: config[key] for key in RunConfig.model_fields if not _nested(config, key)}))]
    lines += ["", "verbs:", *(_row(verb, text) for verb, text in VERBS.items())]
    lines += ["", _EXAMPLES, "", "Hydra's own options: tsrflow --hydra-help"]
    return "\n".join(lines)


def _nested(config: Mapping[str, Any], key: str) -> bool:
    if key not in config:
        raise ConfigError(f"{key}: not part of the composed config")
    return isinstance(config[key], Mapping)


def _settings(values: Mapping[str, Any]) -> str:
    return "  ".join(f"{key}={show(value)}" for key, value in values.items() if key != "name")


def _row(name: str, text: str) -> str:
    first = f"  {name:<12}"
    return textwrap.fill(text or "(none)", _WIDTH, initial_indent=first, subsequent_indent=" " * len(first))
