"""A run from config to finished folder: what it leaves, how it continues, that it is deterministic."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from transformers import AutoModelForCausalLM, AutoTokenizer

import tsrflow
from tsrflow.config.schema import RunConfig, parse
from tsrflow.errors import ConfigError
from tsrflow.training.display import Display

SMALL: dict[str, Any] = {
    "rollout": {"tasks": 2, "group_size": 4, "record_every": 1},
    "trainer": {"max_steps": 4, "checkpoint_every": 2, "accelerator": "cpu"},
    "eval": {"tasks": 8, "every": 2},
    "tracker": "none",
}


def small(**changes: Any) -> RunConfig:
    """A run of seconds; ``trainer_max_steps=2`` sets ``trainer.max_steps``."""
    data: dict[str, Any] = {k: dict(v) if isinstance(v, dict) else v for k, v in SMALL.items()}
    for key, value in changes.items():
        section, _, name = key.partition("_")
        if name and section in ("rollout", "trainer", "eval"):
            data[section][name] = value
        else:
            data[key] = value
    return parse(data)


def train(config: RunConfig, folder: Path) -> dict[str, Any]:
    return tsrflow.run(config, folder, display=Display())


def metrics(folder: Path) -> list[dict[str, float]]:
    """Everything that is logged except wall-clock figures."""
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    return [{k: v for k, v in line.items() if not (k.startswith("perf/") or k.endswith("seconds"))} for line in lines]


def weights(folder: Path, step: int) -> dict[str, torch.Tensor]:
    return load_file(folder / "checkpoints" / f"step_{step:06d}" / "model.safetensors")


def assert_same_run(one: Path, other: Path, step: int) -> None:
    assert metrics(one) == metrics(other)
    a, b = weights(one, step), weights(other, step)
    assert a.keys() == b.keys()
    assert all(torch.equal(a[key], b[key]) for key in a)


def assert_nearly_equal(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> None:
    """Equal up to rounding; Adam's first step turns the sign of a gradient that is almost zero into a whole step, so
    one weight in a hundred may differ more."""
    gaps = torch.cat([(one[key] - other[key]).abs().flatten() for key in one])
    assert float((gaps > 2e-6).float().mean()) < 0.01


def test_a_run_leaves_the_folder_it_promises(tmp_path: Path) -> None:
    summary = train(small(tracker="tensorboard"), tmp_path / "run")
    folder = tmp_path / "run"
    assert json.loads((folder / "summary.json").read_text(encoding="utf-8")) == summary
    for key in (
        "config_hash",
        "eval/success",
        "eval/success_ci95",
        "eval/return",
        "eval/turns",
        "eval/response_tokens",
    ):
        assert key in summary
    for key in ("train/success", "cost/llm_calls", "cost/prefill_tokens", "cost/decode_tokens", "cost/env_steps"):
        assert key in summary
    assert (folder / "DONE").read_text(encoding="utf-8").strip() == summary["config_hash"]
    assert parse(json.loads((folder / "config.json").read_text(encoding="utf-8"))) == small(tracker="tensorboard")
    assert [line["step"] for line in metrics(folder)] == [0, 1, 2, 3, 4]
    last = metrics(folder)[-1]
    for key in ("train/return", "train/loss", "train/entropy", "train/grad_norm", "train/clip_fraction"):
        assert key in last
    for key in ("search/tie_rate", "search/selected_minus_fresh", "rollout/turns", "sync/logprob_gap", "eval/success"):
        assert key in last
    assert last["sync/logprob_gap"] < 1e-4
    checkpoint = folder / "checkpoints" / "step_000004"
    AutoModelForCausalLM.from_pretrained(checkpoint)
    assert AutoTokenizer.from_pretrained(checkpoint).chat_template
    assert json.loads((checkpoint / "generation_config.json").read_text(encoding="utf-8"))["eos_token_id"]


def test_tensorboard_holds_one_run_with_scalars_hparams_and_text(tmp_path: Path) -> None:
    train(small(tracker="tensorboard"), tmp_path)
    assert len(list(tmp_path.rglob("events.out.tfevents.*"))) == 1
    events = EventAccumulator(str(tmp_path / "tb"), size_guidance={"tensors": 0})
    events.Reload()
    tags = events.Tags()
    assert {"train/success", "eval/success", "by_tokens/train/success", "cost/decode_tokens"} <= set(tags["scalars"])
    assert [event.step for event in events.Scalars("train/success")] == [1, 2, 3, 4]
    assert "hp_metric" not in tags["scalars"]
    assert any("hparams" in tag for tag in events.summary_metadata)
    assert any(tag.startswith("trajectories/") for tag in tags["tensors"])


def test_trajectories_on_disk_tell_what_was_sampled_and_what_it_beat(tmp_path: Path) -> None:
    train(small(trainer_max_steps=1), tmp_path)
    lines = (tmp_path / "trajectories" / "step_000001.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    assert len(records) == 8
    for record in records:
        for turn in record["turns"]:
            assert len(turn["logprobs"]) == turn["num_sampled"] <= len(turn["token_ids"])
            assert turn["policy_version"] == 0
    searched = [record for record in records if record["searched"]]
    assert len(searched) == 4
    assert all(turn["rejected"] for record in searched for turn in record["turns"])


@pytest.mark.parametrize(
    "optimizer",
    [
        {"name": "grpo"},
        {"name": "grpo", "kl": 0.1, "minibatches": 2, "epochs": 2},
        {"name": "ppo"},
        {"name": "ppo", "critic": "separate", "minibatches": 2},
        {"name": "ppo", "gae": "bi_level", "critic_on": "all"},
        {"name": "reinforce_pp", "kl": 0.1},
        {"name": "gigpo"},
    ],
    ids=["grpo", "grpo-kl-minibatches", "ppo", "ppo-separate", "ppo-bi-level-all", "reinforce_pp", "gigpo"],
)
def test_half_a_run_and_the_rest_equal_a_whole_one_bit_for_bit(optimizer: dict[str, Any], tmp_path: Path) -> None:
    train(small(optimizer=optimizer), tmp_path / "whole")
    train(small(optimizer=optimizer, trainer_max_steps=2), tmp_path / "halves")
    train(small(optimizer=optimizer), tmp_path / "halves")
    assert_same_run(tmp_path / "whole", tmp_path / "halves", 4)


def test_a_run_that_is_killed_at_any_point_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    config = small(trainer_max_steps=6)
    train(config, tmp_path / "whole")
    (tmp_path / "config.json").write_text(config.model_dump_json(), encoding="utf-8")
    code = "import sys; sys.argv[1:] = sys.argv[1:]; from tsrflow.training.processes import main; main()"
    command = [sys.executable, "-c", code, str(tmp_path / "config.json"), str(tmp_path / "killed")]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TSRFLOW_PLUGINS": ""}
    for lines in (2, 4, 6):  # killed as soon as so many lines of metrics exist: around checkpoints of steps 2, 4 and 6
        process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        file = tmp_path / "killed" / "metrics.jsonl"
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and process.poll() is None:
            if file.is_file() and file.read_bytes().count(b"\n") >= lines:
                break
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.wait()
    train(config, tmp_path / "killed")
    assert_same_run(tmp_path / "whole", tmp_path / "killed", 6)
    assert not list((tmp_path / "killed").rglob(".tmp-*"))


def test_the_same_seed_gives_the_same_trajectories_and_another_seed_others(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        train(small(trainer_max_steps=2, seed=seed), tmp_path / name)
    files = {
        name: [(tmp_path / name / "trajectories" / f"step_00000{s}.jsonl").read_bytes() for s in (1, 2)]
        for name in "abc"
    }
    assert files["a"] == files["b"] != files["c"]


def test_microbatches_change_memory_and_not_the_weights(tmp_path: Path) -> None:
    for parts in (1, 8):
        train(small(trainer_max_steps=1, trainer_accumulate_grad_batches=parts), tmp_path / str(parts))
    one, eight = metrics(tmp_path / "1")[-1], metrics(tmp_path / "8")[-1]
    for key in ("train/grad_norm", "train/loss", "train/entropy", "train/policy_loss"):
        assert one[key] == pytest.approx(eight[key], rel=1e-4, abs=1e-7)
    assert_nearly_equal(weights(tmp_path / "1", 1), weights(tmp_path / "8", 1))


@pytest.mark.parametrize("optimizer", ["grpo", "ppo"])
def test_two_processes_train_as_one_does(optimizer: str, tmp_path: Path) -> None:
    changes: dict[str, Any] = {"optimizer": optimizer, "trainer_max_steps": 2}
    train(small(**changes), tmp_path / "one")
    train(small(**changes, trainer_devices=2, trainer_strategy="ddp"), tmp_path / "two")
    for a, b in zip(metrics(tmp_path / "one"), metrics(tmp_path / "two"), strict=True):
        assert a == pytest.approx(b, rel=1e-3, abs=1e-5)
    assert_nearly_equal(weights(tmp_path / "one", 2), weights(tmp_path / "two", 2))


def test_a_finished_run_is_left_alone(tmp_path: Path) -> None:
    first = train(small(trainer_max_steps=1), tmp_path)
    before = (tmp_path / "metrics.jsonl").stat().st_mtime_ns
    assert train(small(trainer_max_steps=1), tmp_path) == first
    assert (tmp_path / "metrics.jsonl").stat().st_mtime_ns == before


def test_another_learning_rate_does_not_continue_a_run(tmp_path: Path) -> None:
    train(small(trainer_max_steps=1), tmp_path)
    with pytest.raises(ConfigError, match=r"optimizer\.lr"):
        train(small(optimizer={"name": "grpo", "lr": 1e-5}), tmp_path)
    with pytest.raises(ConfigError, match="resume=auto"):
        train(small(resume="never"), tmp_path)
    summary = train(small(optimizer={"name": "grpo", "lr": 1e-5}, resume="restart", trainer_max_steps=1), tmp_path)
    assert summary["steps"] == 1


def test_the_death_of_one_of_two_processes_ends_the_run_with_a_clear_error(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tsrflow", "trainer.devices=2", "trainer.strategy=ddp", "tracker=none"]
    command += ["trainer.accelerator=cpu", "rollout.tasks=2", "rollout.group_size=4", "eval.tasks=8"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TSRFLOW_PLUGINS": ""}
    run = subprocess.Popen(
        [*command, f"hydra.run.dir={tmp_path / 'run'}"],
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    metrics_file = tmp_path / "run" / "metrics.jsonl"
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline and not (metrics_file.is_file() and metrics_file.read_bytes().count(b"\n") >= 3):
        time.sleep(0.05)
    children = Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text(encoding="utf-8").split()
    for child in children:
        os.kill(int(child), signal.SIGKILL)
    _, errors = run.communicate(timeout=120)
    assert run.returncode == 1
    assert "training process 1 was killed by signal 9" in errors
    assert "Traceback" not in errors
