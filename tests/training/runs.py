"""Small runs for tests: a config of seconds, and what its folder says afterwards."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file

from tsrflow.config.schema import RunConfig
from tsrflow.training.display import Display
from tsrflow.training.run import run

TIMES = ("perf/", "seconds")
"""Parts of the names of metrics that are measured in wall-clock time."""


def tiny(**sections: Any) -> RunConfig:
    """A run of two tasks with groups of four, four steps unless ``sections`` say otherwise (merged key by key)."""
    base: dict[str, Any] = {
        "tracker": "none",
        "rollout": {"tasks": 2, "group_size": 4, "record_every": 1},
        "trainer": {"max_steps": 4, "checkpoint_every": 2, "keep_checkpoints": 9, "accelerator": "cpu"},
        "eval": {"tasks": 8, "every": 2},
    }
    for name, value in sections.items():
        held = base.get(name)
        base[name] = {**held, **value} if isinstance(held, Mapping) and isinstance(value, Mapping) else value
    return RunConfig(**base)


def quiet(config: RunConfig, folder: Path) -> dict[str, Any]:
    """Run without a word."""
    return run(config, folder, Display())


def metrics(folder: Path) -> list[dict[str, float]]:
    """Lines of ``metrics.jsonl``."""
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def timeless(values: Mapping[str, Any]) -> dict[str, Any]:
    """``values`` without what is measured in seconds."""
    return {key: value for key, value in values.items() if not any(part in key for part in TIMES)}


def weights(folder: Path, step: int) -> dict[str, torch.Tensor]:
    """Weights of a checkpoint."""
    tensors: dict[str, torch.Tensor] = load_file(folder / "checkpoints" / f"step_{step:06d}" / "model.safetensors")
    return tensors


def trainer_state(folder: Path, step: int) -> dict[str, Any]:
    """The part of a checkpoint that only a continued run reads."""
    state: dict[str, Any] = torch.load(folder / "checkpoints" / f"step_{step:06d}" / "trainer_state.pt")
    return state


def trajectories(folder: Path) -> dict[str, str]:
    """Text of every recorded step by file name."""
    return {file.name: file.read_text() for file in sorted((folder / "trajectories").glob("step_*.jsonl"))}


def assert_same_run(one: Path, other: Path, step: int) -> None:
    """Both folders hold the same run up to ``step``: weights, trainer state, metrics, trajectories, summary."""
    assert [timeless(line) for line in metrics(one)] == [timeless(line) for line in metrics(other)]
    assert trajectories(one) == trajectories(other)
    left, right = weights(one, step), weights(other, step)
    assert left.keys() == right.keys()
    for name in left:
        assert torch.equal(left[name], right[name]), name
    assert_same_state(trainer_state(one, step), trainer_state(other, step))
    summaries = [timeless(json.loads((folder / "summary.json").read_text())) for folder in (one, other)]
    assert summaries[0] == summaries[1]
    assert (one / "DONE").read_text() == (other / "DONE").read_text()


def assert_same_state(left: Any, right: Any) -> None:
    """Nested values are equal, tensors bit for bit, wall-clock times aside."""
    if isinstance(left, Mapping):
        left, right = timeless({str(k): v for k, v in left.items()}), timeless({str(k): v for k, v in right.items()})
        assert left.keys() == right.keys()
        for key in left:
            assert_same_state(left[key], right[key])
    elif isinstance(left, list | tuple):
        assert len(left) == len(right)
        for one, other in zip(left, right, strict=True):
            assert_same_state(one, other)
    elif isinstance(left, torch.Tensor):
        assert torch.equal(left, right)
    else:
        assert left == right


def assert_close_weights(one: Path, other: Path, step: int, tolerance: float = 1e-5) -> None:
    """Weights of two folders agree up to rounding, and are not all the same as at the start."""
    left, right = weights(one, step), weights(other, step)
    for name in left:
        np.testing.assert_allclose(left[name].numpy(), right[name].numpy(), atol=tolerance, rtol=0, err_msg=name)


def start(config: RunConfig, folder: Path, prelude: str = "", **options: Any) -> subprocess.Popen[str]:
    """The run in a process of its own; ``prelude`` is Python that is executed first."""
    code = (
        f"import sys\n{prelude}\nfrom pathlib import Path\nfrom tsrflow.config.schema import RunConfig\n"
        "from tsrflow.training.display import Display\nfrom tsrflow.training.run import run\n"
        "run(RunConfig.model_validate_json(sys.argv[1]), sys.argv[2], Display())\n"
    )
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-c", code, config.model_dump_json(), str(folder)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )
