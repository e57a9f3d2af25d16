"""A finished run's folder: what lies in it, and that other programs can read it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig

from tests.training.runs import metrics, quiet, tiny, weights
from tsrflow.components.models.tiny import asset
from tsrflow.config.schema import RunConfig
from tsrflow.rollout.chat import ChatRenderer

STEPS = 2
EVERY_STEP = [
    "train/return",
    "train/success",
    "train/loss",
    "train/entropy",
    "train/grad_norm",
    "train/clip_fraction",
    "train/group_std",
    "train/kept_groups",
    "search/tie_rate",
    "search/selected_minus_fresh",
    "search/unique_prefixes",
    "search/prefix_reuse",
    "rollout/turns",
    "rollout/response_tokens",
    "rollout/invalid_rate",
    "rollout/truncated",
    "rollout/env_errors",
    "sync/logprob_gap",
    "perf/tokens_per_s",
    "perf/env_steps_per_s",
    "cost/llm_calls",
    "cost/prefill_tokens",
    "cost/decode_tokens",
    "cost/env_steps",
    "cost/rollout_seconds",
    "cost/update_seconds",
    "train/kl",
]
EVALUATED = ["eval/success", "eval/return", "eval/turns", "eval/response_tokens"]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunConfig, Path, dict[str, Any]]:
    config = tiny(tracker="tensorboard", trainer={"max_steps": STEPS, "checkpoint_every": 1}, optimizer={"kl": 0.01})
    folder = tmp_path_factory.mktemp("runs") / "one"
    return config, folder, quiet(config, folder)


Done = tuple[RunConfig, Path, dict[str, Any]]


def test_nothing_but_what_the_design_names(done: Done) -> None:
    _, folder, _ = done
    names = {"config.json", "metrics.jsonl", "trajectories", "checkpoints", "tb", "summary.json", "DONE"}
    assert {path.name for path in folder.iterdir()} == names
    assert not list(folder.rglob(".tmp-*"))


def test_config_json_is_the_whole_config(done: Done) -> None:
    config, folder, _ = done
    assert RunConfig.model_validate(json.loads((folder / "config.json").read_text())) == config


def test_every_metric_of_the_design_is_in_every_line(done: Done) -> None:
    _, folder, _ = done
    lines = metrics(folder)
    assert [line["step"] for line in lines] == [0, 1, 2]
    for line in lines[1:]:
        assert [name for name in EVERY_STEP if name not in line] == []
    for line in (lines[0], lines[2]):
        assert [name for name in EVALUATED if name not in line] == []
    costs = [line["cost/decode_tokens"] for line in lines]
    assert costs[0] == 0 < costs[1] < costs[2]


def test_trajectories_are_complete_json(done: Done) -> None:
    config, folder, _ = done
    files = sorted((folder / "trajectories").iterdir())
    assert [file.name for file in files] == ["step_000001.jsonl", "step_000002.jsonl"]
    rejected = 0
    tokenizer = AutoTokenizer.from_pretrained(asset("frozenlake"))
    renderer = ChatRenderer(tokenizer, {tokenizer.eos_token_id})
    for step, file in enumerate(files, start=1):
        records = [json.loads(line) for line in file.read_text().splitlines()]
        assert len(records) == config.rollout.tasks * config.rollout.group_size
        for record in records:
            assert record["step"] == step
            assert record["return"] == pytest.approx(sum(t["reward"] + t["penalty"] for t in record["turns"]))
            assert record["prompt_ids"] and record["turns"]
            for turn in record["turns"]:
                sampled = turn["token_ids"][: turn["num_sampled"]]
                assert len(turn["logprobs"]) == len(sampled) > 0
                assert all(value <= 0 for value in turn["logprobs"])
                assert renderer.decode(sampled) == turn["text"]
                assert turn["policy_version"] == step - 1
                assert len(turn["rejected"]) == (config.search.candidates - 1 if record["searched"] else 0)  # type: ignore[attr-defined]
                rejected += sum(bool(other["text"]) for other in turn["rejected"])
    assert rejected > 10


def test_checkpoints_load_with_transformers(done: Done) -> None:
    _, folder, _ = done
    first, last = weights(folder, 1), weights(folder, 2)
    assert any(not torch.equal(first[name], last[name]) for name in first)
    checkpoint = folder / "checkpoints" / "step_000002"
    model = AutoModelForCausalLM.from_pretrained(checkpoint)
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    generation = GenerationConfig.from_pretrained(checkpoint)
    for name, value in model.state_dict().items():
        if name in last:
            assert torch.equal(value, last[name])
    assert tokenizer.chat_template
    assert tokenizer.eos_token_id in generation.eos_token_id
    prompt = tokenizer.apply_chat_template(
        [{"role": "user", "content": "Up"}], add_generation_prompt=True, return_tensors="pt", return_dict=True
    )
    written = model.generate(**prompt, max_new_tokens=12, do_sample=False)
    assert written.shape[1] > prompt["input_ids"].shape[1]


def test_tensorboard_holds_one_run_with_declared_hyperparameters(done: Done) -> None:
    _, folder, _ = done
    runs = {path.parent for path in folder.rglob("events.out.tfevents*")}
    assert runs == {folder / "tb"}
    events = EventAccumulator(str(folder / "tb"), size_guidance={"scalars": 0, "tensors": 0})
    events.Reload()
    tags = events.Tags()
    assert not [tag for tag in tags["scalars"] if "hp_metric" in tag]
    lines = metrics(folder)
    for name in (*EVERY_STEP, *EVALUATED):
        drawn = [(event.step, event.value) for event in events.Scalars(name)]
        assert drawn == [(line["step"], pytest.approx(line[name], rel=1e-6)) for line in lines if name in line], name
    tokens = {line["cost/decode_tokens"] for line in lines}
    assert {event.step for event in events.Scalars("by_tokens/eval/success")} <= tokens
    plugin = events.summary_metadata["_hparams_/experiment"].plugin_data.content
    assert b"eval/success" in plugin and b"optimizer.lr" in plugin and b"rollout.tasks" in plugin
    assert "_hparams_/session_start_info" in events.summary_metadata
    texts = [tag for tag in tags["tensors"] if "trajectories/" in tag]
    assert len(texts) == 2
    shown = events.Tensors(texts[0])[-1].tensor_proto.string_val[0].decode()
    assert "&lt;answer&gt;" in shown


def test_summary_says_what_the_run_came_to(done: Done) -> None:
    config, folder, returned = done
    summary = json.loads((folder / "summary.json").read_text())
    assert summary == returned
    assert summary["status"] == "finished"
    assert summary["config_hash"] == config.config_hash() == (folder / "DONE").read_text().strip()
    assert summary["name"].startswith("beam-grpo-frozenlake-tiny-s1-")
    low, high = summary["eval/success_ci95"]
    assert 0 <= low <= summary["eval/success"] <= high <= 1
    last = metrics(folder)[-1]
    for key in (*EVALUATED, "train/success", *(name for name in EVERY_STEP if name.startswith("cost/"))):
        assert summary[key] == last[key], key


def test_a_run_needs_no_folder_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tsrflow.training.display import Display
    from tsrflow.training.run import run

    monkeypatch.chdir(tmp_path)
    config = tiny(trainer={"max_steps": 1}, eval={"every": 0})
    summary = run(config, display=Display())
    assert (tmp_path / "runs" / config.run_name() / "DONE").is_file()
    assert summary["eval/tasks"] == 8
