"""RunConfig: narrowing, round trips, names and hashes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from tsrflow.components.envs.frozenlake import FrozenLakeConfig
from tsrflow.components.search.config import BeamConfig, BestOfNConfig, NaiveConfig
from tsrflow.config.schema import DEFAULT_COMPONENTS, RunConfig, parse
from tsrflow.errors import ConfigError
from tsrflow.registry import registry


def test_groups_take_a_name_a_mapping_or_a_config() -> None:
    by_name = RunConfig(search="bon")
    by_mapping = RunConfig(search={"name": "bon"})
    by_config = RunConfig(search=BestOfNConfig())
    assert by_name == by_mapping == by_config
    assert isinstance(by_name.search, BestOfNConfig)


def test_a_mapping_without_a_name_means_the_default_component() -> None:
    config = RunConfig(search={"width": 3})
    assert config.search == BeamConfig(width=3)


def test_defaults_are_the_documented_components() -> None:
    config = RunConfig()
    assert {kind: getattr(config, kind).name for kind in DEFAULT_COMPONENTS} == DEFAULT_COMPONENTS
    assert isinstance(config.env, FrozenLakeConfig)


def test_is_frozen_all_the_way_down() -> None:
    config = RunConfig()
    for owner, key in ((config, "seed"), (config.rollout, "tasks"), (config.search, "width")):
        with pytest.raises(ValidationError):
            setattr(owner, key, 5)


REQUIRED = {"pretrained": {"path": "/folder"}, "gymnasium": {"id": "FrozenLake-v1"}}
CONFIGS: list[dict[str, Any]] = [
    {},
    {"trainer": {"devices": "auto", "gradient_clip_val": None}, "optimizer": {"lr": 0.1 + 0.2, "betas": (0.5, 0.75)}},
    *({spec.kind: {"name": spec.name, **REQUIRED.get(spec.name, {})}} for spec in registry().specs()),
]


@pytest.mark.parametrize("data", CONFIGS, ids=lambda data: json.dumps(data)[:60])
def test_json_round_trip_loses_nothing(data: dict[str, object]) -> None:
    config = parse(data)
    again = RunConfig.model_validate_json(config.model_dump_json())
    assert again == config and again.config_hash() == config.config_hash()
    assert RunConfig.model_validate(json.loads(json.dumps(config.model_dump(mode="json")))) == config


@given(
    st.floats(min_value=1e-12, max_value=1e3),
    st.floats(min_value=1e-3, max_value=1.0),
    st.integers(min_value=0, max_value=2**63),
)
@settings(max_examples=50, deadline=None)
def test_json_round_trip_keeps_every_bit_of_a_number(lr: float, slip: float, seed: int) -> None:
    config = RunConfig(optimizer={"lr": lr}, env={"slip": slip}, seed=seed)
    assert RunConfig.model_validate_json(config.model_dump_json()) == config


def test_hash_ignores_what_is_not_the_work() -> None:
    base = RunConfig()
    same = RunConfig(resume="never", on_error="stop", tracker="none")
    assert same.config_hash() == base.config_hash() and same.run_name() == base.run_name()


def test_hash_does_not_depend_on_how_a_config_was_written() -> None:
    left = parse({"search": {"name": "beam", "width": 2}, "seed": 1, "env": {"slip": 1}})
    right = parse({"env": {"slip": 1.0}, "seed": 1, "search": {"width": 2, "name": "beam", "candidates": 4}})
    assert left.config_hash() == right.config_hash() == RunConfig().config_hash()


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 2},
        {"search": {"width": 3}},
        {"search": "naive"},
        {"rollout": {"tasks": 9}},
        {"optimizer": {"lr": 2e-3}},
        {"trainer": {"max_steps": 7}},
        {"eval": {"tasks": 9}},
        {"model": {"path": "elsewhere"}},
    ],
    ids=str,
)
def test_hash_changes_with_the_work(change: dict[str, object]) -> None:
    assert parse(change).config_hash() != RunConfig().config_hash()


@pytest.mark.parametrize(
    ("change", "may_continue"),
    [
        ({"trainer": {"max_steps": 500}}, True),
        ({"trainer": {"checkpoint_every": 5, "keep_checkpoints": 9, "threads": 1}}, True),
        ({"eval": {"tasks": 3, "every": 1, "temperature": 1.0, "split": "test"}}, True),
        ({"rollout": {"record_every": 1}}, True),
        ({"tracker": "none", "resume": "never", "on_error": "stop"}, True),
        ({"rollout": {"tasks": 9}}, False),
        ({"trainer": {"precision": "64-true"}}, False),
        ({"optimizer": {"lr": 2e-3}}, False),
        ({"seed": 2}, False),
    ],
    ids=str,
)
def test_what_may_change_when_a_run_is_continued(change: dict[str, object], may_continue: bool) -> None:
    assert (parse(change).resume_hash() == RunConfig().resume_hash()) is may_continue


def test_run_name_says_what_runs() -> None:
    config = RunConfig(search="naive", optimizer="ppo", model={"name": "pretrained", "path": "/m"}, seed=7)
    assert config.run_name() == f"naive-ppo-frozenlake-pretrained-s7-{config.config_hash()[:6]}"
    assert len(config.config_hash()) == 32


def test_flat_gives_every_value_by_the_key_a_user_types() -> None:
    flat = RunConfig(search=NaiveConfig()).flat()
    assert flat["rollout.tasks"] == 8 and flat["search.name"] == "naive" and flat["seed"] == 1
    assert not any(isinstance(value, dict) for value in flat.values())


@pytest.mark.parametrize(
    ("slip", "fork", "resolved"),
    [(1.0, "auto", "commit"), (0.8, "auto", "honest"), (0.8, "clairvoyant", "clairvoyant"), (1.0, "honest", "honest")],
)
def test_fork_policy_follows_the_environment_unless_given(slip: float, fork: str, resolved: str) -> None:
    config = parse({"env": {"slip": slip}, "rollout": {"fork": fork}})
    assert config.rollout.resolved_fork(config.env) == resolved


def test_infinite_and_undefined_numbers_are_refused() -> None:
    for value in (float("inf"), float("nan")):
        with pytest.raises(ConfigError, match=r"optimizer\.lr="):
            parse({"optimizer": {"lr": value}})
