"""The packaged policies: one for each built-in environment, at home in its text, with something left to learn."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.training.runs import metrics, quiet, tiny
from tsrflow.components.models.config import TinyConfig
from tsrflow.components.models.tiny import ASSETS, TinyModel, asset

ENVS = ("frozenlake", "sokoban", "webshop")


def test_every_built_in_environment_has_a_policy_of_its_own_and_any_other_gets_that_of_frozenlake() -> None:
    assert sorted(folder.name for folder in ASSETS.iterdir()) == sorted(ENVS)
    with pytest.warns(UserWarning, match="no packaged policy knows env=gymnasium; FrozenLake's is used"):
        assert asset("gymnasium") == asset("frozenlake")


@pytest.mark.parametrize("env", ENVS)
def test_folders_are_small_and_say_how_they_were_made(env: str) -> None:
    folder = asset(env)
    assert sum(file.stat().st_size for file in folder.iterdir()) < 1_000_000
    assert "tsrflow warmup" in (folder / "README.md").read_text()
    assert json.loads((folder / "warmup.json").read_text())["steps"] > 0


@pytest.mark.parametrize("env", ENVS)
def test_the_run_takes_the_policy_of_its_environment(env: str) -> None:
    loaded, packaged = TinyModel(TinyConfig(), env=env).load(), asset(env)
    assert loaded.model.config.vocab_size == json.loads((packaged / "config.json").read_text())["vocab_size"]
    assert sum(p.numel() for p in loaded.model.parameters()) < 200_000


@pytest.mark.parametrize("env", ENVS)
def test_it_plays_a_little_and_leaves_room_to_learn(env: str, tmp_path: Path) -> None:
    """Held-out success of the untrained policy; nearly every turn is answered in the format."""
    config = tiny(
        env=env, search="naive", optimizer={"lr": 1e-12}, trainer={"max_steps": 1}, eval={"tasks": 48, "every": 0}
    )
    quiet(config, tmp_path)
    (line,) = metrics(tmp_path)
    assert 0.02 < line["eval/success"] < 0.6
    assert line["rollout/invalid_rate"] < 0.2
