"""What ships with the package."""

from __future__ import annotations

import inspect
import subprocess
import sys
from typing import get_args

import pytest

from tsrflow.registry import KINDS, ComponentSpec, registry

BUILT_INS = registry().specs()
EXPECTED = {
    "env": {"frozenlake"},
    "search": {"naive", "bon", "beam", "lookahead"},
    "scorer": {"progress", "env_reward"},
    "optimizer": {"ppo", "grpo", "dr_grpo", "dapo", "rloo", "reinforce_pp", "gspo", "gigpo"},
    "filter": {"none", "reward_std", "top_p"},
    "generator": {"transformers"},
    "model": {"tiny", "pretrained"},
    "tracker": {"tensorboard", "none"},
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_built_ins_of_a_kind_are_there(kind: str) -> None:
    assert set(registry().names(kind)) >= EXPECTED[kind]


@pytest.mark.parametrize("spec", BUILT_INS, ids=lambda spec: f"{spec.kind}={spec.name}")
def test_factory_exists_and_takes_the_config_first(spec: ComponentSpec) -> None:
    parameters = list(inspect.signature(spec._resolve()).parameters)
    assert parameters[0] == "config"


@pytest.mark.parametrize("spec", BUILT_INS, ids=lambda spec: f"{spec.kind}={spec.name}")
def test_config_is_named_documented_and_frozen(spec: ComponentSpec) -> None:
    assert spec.summary
    fields = spec.config.model_fields
    assert get_args(fields["name"].annotation) == (spec.name,)
    assert [name for name, field in fields.items() if not field.description] in ([], ["name"])
    assert spec.config.model_config["frozen"] and spec.config.model_config["extra"] == "forbid"


def test_registering_imports_nothing_heavy() -> None:
    code = (
        "import sys, tsrflow.registry as r; r.registry().specs();"
        "print([m for m in ('torch', 'transformers', 'lightning', 'vllm', 'hydra') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
