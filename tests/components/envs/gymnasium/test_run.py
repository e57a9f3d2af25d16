"""A whole step of training in a Gymnasium environment, from the command line and from Python."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.training.runs import metrics, quiet, tiny

LAKE = {
    "name": "gymnasium",
    "id": "FrozenLake-v1",
    "kwargs": {"is_slippery": False},
    "actions": ["Left", "Down", "Right", "Up"],
}


@pytest.mark.parametrize("fork", ["auto", "replay"])
def test_one_step_of_training(fork: str, tmp_path: Path) -> None:
    config = tiny(env={**LAKE, "fork": fork}, trainer={"max_steps": 1, "checkpoint_every": 0}, eval={"tasks": 4})
    with pytest.warns(UserWarning, match="model=tiny: no packaged policy knows env=gymnasium; FrozenLake's is used"):
        summary = quiet(config, tmp_path)
    assert summary["status"] == "finished" and summary["panels"].keys() == {"train", "validation", "test"}
    assert metrics(tmp_path)[-1]["rollout/turns"] >= 1


def test_a_policy_warmed_up_on_it_keeps_the_format(tmp_path: Path) -> None:
    world = ["env=gymnasium", "env.id=FrozenLake-v1", "env.kwargs={is_slippery:false}", "env.max_turns=3"]
    command = [sys.executable, "-m", "tsrflow", "warmup", *world, f"out={tmp_path / 'policy'}", "steps=40", "batch=8"]
    subprocess.run(command, check=True, capture_output=True, timeout=200)
    env = {"name": "gymnasium", "id": "FrozenLake-v1", "kwargs": {"is_slippery": False}, "max_turns": 3}
    model = {"name": "tiny", "path": str(tmp_path / "policy")}
    config = tiny(env=env, model=model, trainer={"max_steps": 1, "checkpoint_every": 0}, eval={"tasks": 4})
    quiet(config, tmp_path / "run")
    assert metrics(tmp_path / "run")[-1]["rollout/invalid_rate"] < 0.5
