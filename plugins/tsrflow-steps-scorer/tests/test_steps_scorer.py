"""The plugin as it is used: installed, found by its entry point, configured by name."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
from pydantic import ValidationError
from tsrflow_steps_scorer import StepsConfig, StepsScorer

from tsrflow.config.schema import RunConfig, parse
from tsrflow.errors import ConfigError
from tsrflow.protocols import Scorer
from tsrflow.registry import registry
from tsrflow.types import ScoringContext, Task, Turn


@pytest.fixture(autouse=True)
def _with_plugin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TSRFLOW_PLUGINS", "steps-scorer")
    monkeypatch.setenv("TSRFLOW_STRICT_PLUGINS", "1")
    registry.cache_clear()
    yield
    registry.cache_clear()


def context(depth: int, discounted: float = 0.0, potential: float | None = 0.5) -> ScoringContext:
    task = Task("frozenlake", "train", 0, 0)
    turn = Turn("", ("Up",), True)
    return ScoringContext(task, depth, 5, turn, "", 0.0, 0.0, discounted, potential, False, False, (), {})


def test_is_found_by_its_entry_point_with_its_distribution_named() -> None:
    spec = registry().get("scorer", "steps")
    assert spec.origin == "tsrflow-steps-scorer"
    scorer = spec.build(StepsConfig(turn_cost=0.1))
    assert isinstance(scorer, Scorer) and not scorer.privileged


def test_every_turn_costs_the_same() -> None:
    scorer = StepsScorer(StepsConfig(turn_cost=0.1, potential_weight=2.0))
    assert scorer.score([context(1), context(3), context(3, discounted=1.0), context(2, potential=None)]) == (
        pytest.approx([0.9, 0.7, 1.7, -0.2])
    )


def test_prefers_the_shorter_of_two_ways_to_one_state() -> None:
    short, long = StepsScorer(StepsConfig(turn_cost=0.01)).score([context(2), context(4)])
    assert short > long


@pytest.mark.parametrize("cost", [0.0, -0.1, 1.5])
def test_cost_outside_its_range_is_refused(cost: float) -> None:
    with pytest.raises(ValidationError):
        StepsConfig(turn_cost=cost)


def test_run_config_validates_the_plugins_settings_at_their_keys() -> None:
    config = RunConfig(scorer={"name": "steps", "turn_cost": 0.2})
    assert RunConfig.model_validate_json(config.model_dump_json()) == config
    with pytest.raises(ConfigError, match=r"^scorer\.turn_cost=2: must be > 0 and <= 1$"):
        parse({"scorer": {"name": "steps", "turn_cost": 2}})


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tsrflow", *arguments], capture_output=True, text=True, env={**os.environ}, timeout=60
    )


def test_command_line_knows_it() -> None:
    shown = command("scorer=steps", "scorer.turn_cost=0.25", "--cfg", "job")
    assert shown.returncode == 0 and "turn_cost: 0.25" in shown.stdout
    assert "steps" in command("--help").stdout
    listed = command("components", "scorer").stdout
    assert "tsrflow-steps-scorer" in listed and "scorer.turn_cost" in listed


def test_command_line_asks_for_the_required_setting() -> None:
    refused = command("scorer=steps")
    assert refused.returncode == 2
    assert refused.stderr.startswith("tsrflow: scorer.turn_cost: required and has no default")
    assert len(refused.stderr.splitlines()) == 1
