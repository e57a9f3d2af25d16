"""The text of ``tsrflow --help``, made from the registry and the config classes."""

from __future__ import annotations

from tsrflow.config import compose
from tsrflow.registry import KINDS

_EXAMPLES = """\
  tsrflow                                              train the default agent
  tsrflow search=lookahead search.depth=3 seed=2       change a strategy and its settings
  tsrflow -m search=bon,beam optimizer=ppo,grpo        run a grid, one fresh process per job
  tsrflow --cfg job                                    show the composed config
  tsrflow components scorer                            what can be named, with all settings"""


def help_template() -> str:
    """Hydra fills in nothing: the text is complete and escaped for its interpolation."""
    from tsrflow.cli.main import VERBS

    groups = "\n".join(f"  {kind + '=':<12}{', '.join(compose.options(kind))}" for kind in KINDS)
    verbs = "\n".join(f"  {verb:<12}{text}" for verb, text in VERBS.items())
    text = f"""\
tsrflow trains LLM agents over many turns, with trajectory search while rollouts are generated.

usage: tsrflow [-m] [key=value ...]      train, or sweep over comma-separated values with -m
       tsrflow VERB ...

components (choose one of each with KIND=NAME, set its fields with KIND.FIELD=VALUE):
{groups}

other keys: rollout.*  trainer.*  eval.*  seed  resume  on_error  +experiment=NAME  hydra.run.dir=FOLDER

verbs:
{verbs}

examples:
{_EXAMPLES}
"""
    return text.replace("$", "$$")
