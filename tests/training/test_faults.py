"""What goes wrong ends in one clear error, and costs no more than it must."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
import torch

from tests.training.test_run import metrics, small, train
from tsrflow.components.envs.frozenlake import FrozenLake, FrozenLakeConfig
from tsrflow.components.models.tiny import asset
from tsrflow.components.optimizers.config import GRPOConfig
from tsrflow.components.optimizers.grpo import GRPO
from tsrflow.components.optimizers.types import LossInputs, LossOutputs
from tsrflow.components.scorers.config import ProgressConfig
from tsrflow.components.scorers.progress import ProgressScorer
from tsrflow.errors import ConfigError, RunError
from tsrflow.registry import registry
from tsrflow.types import ScoringContext


class FaultyConfig(FrozenLakeConfig):
    """A lake whose steps fail now and then."""

    name: Literal["faulty"] = "faulty"  # type: ignore[assignment]
    fault: Literal["raises", "hangs", "always"] = "raises"


class Faulty(FrozenLake):
    """Raises or sleeps on every 40th step; with ``always``, raises on every one."""

    steps = 0

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        Faulty.steps += 1
        fault = self.config.fault  # type: ignore[attr-defined]
        if fault == "always" or Faulty.steps % 40 == 0:
            if fault == "hangs":
                time.sleep(1.5)
            else:
                raise RuntimeError("the ice is on fire")
        return super().step(action)


class PoisonConfig(GRPOConfig):
    """GRPO whose loss stops being a number."""

    name: Literal["poison"] = "poison"  # type: ignore[assignment]
    after: int = 2


class Poison(GRPO):
    """NaN after so many losses."""

    def __init__(self, config: PoisonConfig) -> None:
        super().__init__(config)
        self.left = config.after

    def loss(self, inputs: LossInputs) -> LossOutputs:
        self.left -= 1
        outputs = super().loss(inputs)
        return LossOutputs(outputs.loss * float("nan"), outputs.metrics) if self.left < 0 else outputs


class BlankConfig(ProgressConfig):
    """A scorer that has no opinion."""

    name: Literal["blank"] = "blank"  # type: ignore[assignment]


class Blank(ProgressScorer):
    """Answers NaN."""

    def score(self, contexts: Any) -> list[float]:
        scored: list[ScoringContext] = list(contexts)
        return [float("nan") for _ in scored]


@pytest.fixture(autouse=True)
def components() -> Iterator[None]:
    known = registry()
    before = dict(known._specs)
    known.add("env", "faulty", config=FaultyConfig, factory=Faulty, summary="fails", override=True)
    known.add("optimizer", "poison", config=PoisonConfig, factory=Poison, summary="NaN", override=True)
    known.add("scorer", "blank", config=BlankConfig, factory=Blank, summary="NaN", override=True)
    yield
    known._specs.clear()
    known._specs.update(before)


@pytest.mark.parametrize("fault", ["raises", "hangs"])
def test_an_environment_that_fails_now_and_then_costs_trajectories_and_not_the_run(fault: str, tmp_path: Path) -> None:
    Faulty.steps = 0
    config = small(env={"name": "faulty", "fault": fault}, rollout_env_timeout=0.3, trainer_max_steps=2)
    summary = train(config, tmp_path)
    assert summary["status"] == "finished"
    assert sum(line.get("rollout/env_errors", 0.0) for line in metrics(tmp_path)) > 0


def test_an_environment_that_always_fails_ends_the_run_with_its_own_words(tmp_path: Path) -> None:
    config = small(env={"name": "faulty", "fault": "always"}, eval_every=0)
    with pytest.raises(RunError, match=r"step 1: every trajectory was lost .* the ice is on fire"):
        train(config, tmp_path)
    summary = json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))
    assert summary["status"] == "failed"
    assert "the ice is on fire" in summary["error"]
    assert not (tmp_path / "DONE").exists()


def test_a_loss_that_is_no_number_stops_the_run_and_keeps_the_last_checkpoint(tmp_path: Path) -> None:
    config = small(optimizer={"name": "poison", "after": 3, "minibatches": 1}, trainer_checkpoint_every=1)
    with pytest.raises(RunError, match=r"step 4: the loss is nan"):
        train(config, tmp_path)
    assert sorted(p.name for p in (tmp_path / "checkpoints").iterdir()) == ["step_000002", "step_000003"]
    state = torch.load(tmp_path / "checkpoints" / "step_000003" / "trainer_state.pt", weights_only=True)
    assert state["step"] == 3


def test_a_scorer_that_answers_nan_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"(?i)blank"):
        train(small(scorer="blank"), tmp_path)


def test_a_filter_that_lets_nothing_through_ends_the_run_in_the_end(tmp_path: Path) -> None:
    nothing = {"name": "reward_std", "metric": "success", "members": "naive", "fraction": 0.5}
    config = small(filter=nothing, rollout_mix=0.25, trainer_max_steps=40, eval_every=0, rollout_record_every=0)
    with pytest.raises(RunError, match="no group was trained on for 20 steps in a row"):
        train(config, tmp_path)


@pytest.mark.parametrize("damage", ["missing", "empty", "no weights", "broken config"])
def test_a_bad_model_folder_is_one_error_before_any_work(damage: str, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    if damage == "empty":
        folder.mkdir()
    elif damage != "missing":
        shutil.copytree(asset("frozenlake"), folder)
        if damage == "no weights":
            (folder / "model.safetensors").unlink()
        else:
            (folder / "config.json").write_text("{", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"model\.path=.*model: "):
        train(small(model={"name": "pretrained", "path": str(folder)}), tmp_path / "run")


def test_a_run_folder_that_cannot_be_written_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"run folder .* cannot be written"):
        train(small(), tmp_path / "file" / "run")


@pytest.fixture
def little_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one and a half megabytes."""
    mount = tmp_path / "disk"
    mount.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1536k", "tmpfs", str(mount)], capture_output=True)
    if done.returncode:
        pytest.skip("a small file system can only be mounted by root")
    yield mount
    subprocess.run(["umount", "-l", str(mount)], check=True)


def test_a_full_disk_ends_the_run_with_the_name_of_the_file(little_disk: Path) -> None:
    config = small(trainer_checkpoint_every=1, trainer_keep_checkpoints=2, rollout_record_every=0)
    with pytest.raises(RunError, match=r"cannot write .*(checkpoint|metrics|summary)"):
        train(config, little_disk / "run")
    kept = sorted((little_disk / "run" / "checkpoints").glob("step_*"))
    assert kept, "the checkpoints written before the disk was full are gone"
    assert all((each / "trainer_state.pt").is_file() for each in kept)
    assert os.path.ismount(little_disk)
