"""What a finished run shows in TensorBoard: curves, hyperparameters, layout, texts."""

# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.backend.event_processing import data_provider, plugin_event_multiplexer
from tensorboard.backend.event_processing.event_multiplexer import EventMultiplexer
from tensorboard.context import RequestContext
from tensorboard.plugins.base_plugin import TBContext
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.hparams import api_pb2, backend_context, list_session_groups

from tests.components.made import made_batch, made_group, made_trajectory
from tests.components.trackers.reading import (
    HPARAMS,
    curve,
    points,
    read,
    rendered,
    shown_text,
    started,
    written,
)
from tsrflow.components.trackers import summaries
from tsrflow.components.trackers.event_file import read_events
from tsrflow.components.trackers.tensorboard import DECLARED
from tsrflow.types import Group, Task

# --- curves ---


def test_scalars_over_steps_and_over_tokens(tmp_path: Path) -> None:
    tracker = started(tmp_path)
    for step in range(3):
        tracker.scalars(step, points(step))
    tracker.finish({"status": "finished"})
    assert curve(tmp_path, "train/success") == [(0, 0.0), (1, 0.1), (2, 0.2)]
    assert curve(tmp_path, "train/loss") == [(0, 0.0), (1, -1.0), (2, -2.0)]
    assert curve(tmp_path, "by_tokens/train/success") == [(0, 0.0), (1000, 0.1), (2000, 0.2)]
    assert curve(tmp_path, "by_tokens/eval/success") == [(0, 0.0), (2000, 0.02)]
    over_tokens = [tag for tag in read(tmp_path).Tags()["scalars"] if tag.startswith("by_tokens/")]
    assert sorted(over_tokens) == ["by_tokens/eval/success", "by_tokens/train/success"]


def test_without_a_token_count_there_is_no_curve_over_tokens(tmp_path: Path) -> None:
    tracker = started(tmp_path)
    tracker.scalars(1, {"train/success": 0.5})
    assert read(tmp_path).Tags()["scalars"] == ["train/success"]


def test_numpy_and_undefined_values_are_written(tmp_path: Path) -> None:
    tracker = started(tmp_path)
    tracker.scalars(1, {"a": np.float32(0.5), "b": float("nan"), "c": 3})  # type: ignore[dict-item]
    assert curve(tmp_path, "a") == [(1, 0.5)] and curve(tmp_path, "c") == [(1, 3.0)]
    assert np.isnan(read(tmp_path).Scalars("b")[0].value)


def test_a_step_can_be_read_as_soon_as_it_was_written(tmp_path: Path) -> None:
    """In a process that is then killed: nothing waits in a buffer."""
    code = f"""
        import os, signal
        from tsrflow.components.trackers.config import TensorBoardConfig
        from tsrflow.components.trackers.tensorboard import TensorBoardTracker
        tracker = TensorBoardTracker(TensorBoardConfig(flush_seconds=1000))
        tracker.start({str(tmp_path)!r}, {{"a": 1}}, 0)
        for step in (1, 2, 3):
            tracker.scalars(step, {{"train/success": step / 10}})
        os.kill(os.getpid(), signal.SIGKILL)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], cwd=Path(__file__).parents[3], check=False)
    assert done.returncode == -9
    assert curve(tmp_path, "train/success") == [(1, 0.1), (2, 0.2), (3, 0.3)]


# --- one run, its hyperparameters ---


def test_a_job_is_one_run_in_one_file(tmp_path: Path) -> None:
    tracker = started(tmp_path)
    tracker.scalars(1, points(1))
    tracker.rollouts(made_batch([made_group([1.0, 0.0])]))
    tracker.finish({"status": "finished"})
    multiplexer = EventMultiplexer().AddRunsFromDirectory(str(tmp_path))
    multiplexer.Reload()
    assert list(multiplexer.Runs()) == ["tb"]
    assert len(written(tmp_path)) == 1
    assert not any("hp_metric" in tag for tag in read(tmp_path).Tags()["scalars"])


def session_groups(logdir: Path) -> list[Any]:
    """Rows of the HPARAMS tab over all runs under ``logdir``, as TensorBoard's backend computes them."""
    multiplexer = plugin_event_multiplexer.EventMultiplexer()
    multiplexer.AddRunsFromDirectory(str(logdir))
    multiplexer.Reload()
    provider = data_provider.MultiplexerDataProvider(multiplexer, str(logdir))
    context = backend_context.Context(TBContext(data_provider=provider))
    request = api_pb2.ListSessionGroupsRequest(
        start_index=0,
        slice_size=10,
        allowed_statuses=[api_pb2.STATUS_SUCCESS, api_pb2.STATUS_UNKNOWN, api_pb2.STATUS_RUNNING],
        col_params=[api_pb2.ColParams(metric=api_pb2.MetricName(tag="eval/success"), order=api_pb2.ORDER_DESC)],
    )
    content = context.hparams_metadata(RequestContext(), "")
    experiment = context.experiment_from_metadata(RequestContext(), "", True, content, None)
    assert [info.name.tag for info in experiment.metric_infos] == list(DECLARED)
    assert [info.name for info in experiment.hparam_infos] == sorted(HPARAMS)
    handler = list_session_groups.Handler(RequestContext(), context, "", request)
    return list(handler.run().session_groups)


def test_the_hyperparameter_table_compares_the_runs_own_curves(tmp_path: Path) -> None:
    for number, success in enumerate([0.25, 0.75]):
        tracker = started(tmp_path / f"job{number}")
        tracker.scalars(0, {"eval/success": 0.1, "train/return": 0.0, "cost/decode_tokens": 0})
        tracker.scalars(4, {"eval/success": success, "train/return": 1.5, "cost/decode_tokens": 100})
        if number:
            tracker.finish({"status": "finished"})
    best, other = session_groups(tmp_path)
    assert best.hparams["search.name"].string_value == "beam"
    assert best.hparams["search.width"].number_value == 2
    assert best.hparams["optimizer.whiten"].bool_value is True
    assert best.hparams["trainer.threads"].string_value == "null"
    assert best.hparams["optimizer.betas"].string_value == "[0.9, 0.999]"
    figures = {value.name.tag: value.value for value in best.metric_values}
    assert figures["eval/success"] == 0.75 and figures["train/return"] == 1.5 and figures["cost/decode_tokens"] == 100
    assert {v.name.tag: v.value for v in other.metric_values}["eval/success"] == 0.25
    assert [s.status for row in (best, other) for s in row.sessions] == [
        api_pb2.STATUS_SUCCESS,
        api_pb2.STATUS_UNKNOWN,
    ]


def test_hyperparameters_are_written_once(tmp_path: Path) -> None:
    for step in (0, 2, 4):
        tracker = started(tmp_path, step)
        tracker.scalars(step + 1, points(step + 1))
        tracker.finish({"status": "finished"})
    tags = [value.tag for event in read_events(tmp_path / "tb") for value in event.summary.value]
    for tag in ("_hparams_/experiment", "_hparams_/session_start_info", "_hparams_/session_end_info", "config"):
        assert tags.count(tag) == 1, tag


def test_the_custom_scalars_page_draws_tags_that_exist(tmp_path: Path) -> None:
    started(tmp_path)
    content = read(tmp_path).Tensors("custom_scalars__config__")[0].tensor_proto.string_val[0]
    page = layout_pb2.Layout.FromString(content)
    charts = {chart.title: list(chart.multiline.tag) for category in page.category for chart in category.chart}
    assert charts["the same over generated tokens"] == ["^by_tokens/train/success$", "^by_tokens/eval/success$"]


# --- texts ---


def test_config_and_trajectories_are_shown_as_they_are(tmp_path: Path) -> None:
    tracker = started(tmp_path, text_samples=2)
    trajectory = made_trajectory(
        [0.0, 1.0],
        task=Task("lake", "train", 3, 3),
        success=True,
        score=0.75,
        texts=["<answer>left || up</answer>", "**not bold** <script>alert(1)</script></pre>"],
        observations=["S . .\n. O .\n\n. . G", "    indented & <b>", "done"],
    )
    tracker.rollouts(made_batch([Group(0, trajectory.task, (trajectory,))], 7))
    assert shown_text(tmp_path, "trajectories/0") == [
        "lake/train/3: success, return 1, searched\n"
        "S . .\n. O .\n\n. . G\n"
        "> <answer>left || up</answer>   (reward 0, score 0)\n"
        "    indented & <b>\n"
        "> **not bold** <script>alert(1)</script></pre>   (reward 1, score 0.75)\n"
        "done"
    ]
    assert read(tmp_path).Tensors("trajectories/0")[0].step == 7
    (config,) = shown_text(tmp_path, "config")
    assert 'search.name: "beam"\nsearch.width: 2\noptimizer.lr: 0.0005' in config


@given(st.text(alphabet="<>&\"'`*_#|-=[]()!\\/ \n\tapre;", max_size=80))
def test_no_text_can_break_out_of_its_block(content: str) -> None:
    summary = summaries.text("t", f"a{content}b")
    assert rendered(summary.value[0].tensor.string_val[0].decode()).strip() == f"a{content}b".expandtabs(4)


@pytest.mark.parametrize(
    ("asked", "groups", "expected"), [(0, 2, []), (2, 2, [0, 3]), (3, 3, [0, 2, 5]), (9, 1, [0, 1])]
)
def test_samples_are_spread_over_the_groups(tmp_path: Path, asked: int, groups: int, expected: list[int]) -> None:
    """Members are numbered through by their returns; two per group."""
    tracker = started(tmp_path, text_samples=asked)
    tracker.rollouts(made_batch([made_group([2.0 * g, 2.0 * g + 1], number=g) for g in range(groups)]))
    tags = [tag for tag in read(tmp_path).Tags()["tensors"] if tag.startswith("trajectories/")]
    firsts = [shown_text(tmp_path, tag)[0].splitlines()[0] for tag in sorted(tags)]
    assert [int(line.split("return ")[1].split(",")[0]) for line in firsts] == expected
