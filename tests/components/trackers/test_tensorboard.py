"""TensorBoard files, read back with TensorBoard's own readers."""

# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.backend.event_processing import data_provider, plugin_event_multiplexer
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.event_multiplexer import EventMultiplexer
from tensorboard.context import RequestContext
from tensorboard.plugins.base_plugin import TBContext
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.hparams import api_pb2, backend_context, list_session_groups
from tensorboard.plugins.text.text_plugin import text_array_to_html

from tests.components.made import made_batch, made_group, made_trajectory
from tsrflow.components.trackers import summaries
from tsrflow.components.trackers.config import NullTrackerConfig, TensorBoardConfig
from tsrflow.components.trackers.event_file import event_files, read_events
from tsrflow.components.trackers.null import NullTracker
from tsrflow.components.trackers.tensorboard import DECLARED, TensorBoardTracker
from tsrflow.errors import RunError
from tsrflow.protocols import Tracker
from tsrflow.types import Group, Task

HPARAMS: dict[str, Any] = {
    "search.name": "beam",
    "search.width": 2,
    "optimizer.lr": 5e-4,
    "optimizer.whiten": True,
    "trainer.threads": None,
    "optimizer.betas": [0.9, 0.999],
}


def written(run: Path) -> list[Path]:
    """Files of the tracker that hold anything."""
    return [file for file in (run / "tb").iterdir() if file.stat().st_size]


def started(run: Path, step: int = 0, **config: Any) -> TensorBoardTracker:
    tracker = TensorBoardTracker(TensorBoardConfig(**config))
    tracker.start(str(run), HPARAMS, step)
    return tracker


def points(step: int, attempt: float = 0.0) -> dict[str, float]:
    """A step's values; ``attempt`` tells one try of it from another."""
    tokens = {"cost/decode_tokens": 1000.0 * step}
    if step % 2 == 0:
        tokens["eval/success"] = 0.01 * step + attempt
    return {"train/success": 0.1 * step + attempt, "train/loss": -float(step), **tokens}


def read(run: Path) -> EventAccumulator:
    accumulator = EventAccumulator(str(run / "tb"), size_guidance={"scalars": 0, "tensors": 0})
    accumulator.Reload()
    return accumulator


def curve(run: Path, tag: str) -> list[tuple[int, Any]]:
    return [(event.step, pytest.approx(event.value)) for event in read(run).Scalars(tag)]


def shown_text(run: Path, tag: str) -> list[str]:
    """What a person sees in the text tab, per step."""
    tensors = read(run).Tensors(tag)
    return [rendered(event.tensor_proto.string_val[0].decode()) for event in tensors]


class _Plain(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def rendered(content: str) -> str:
    """``content`` through TensorBoard's renderer; no element but the block around it may come out."""
    page = _Plain()
    page.feed(text_array_to_html(np.array(content.encode(), dtype=object), enable_markdown=True))
    assert page.tags == ["pre"]
    return page.text


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


# --- continuing ---


def attempt(run: Path, start: int, stop: int, number: float) -> None:
    """Steps ``start + 1`` to ``stop``; every odd step leaves a trajectory."""
    tracker = started(run, start, text_samples=1)
    for step in range(start + 1 if start else 0, stop + 1):
        tracker.scalars(step, points(step, number))
        if step % 2:
            trajectory = made_trajectory([1.0], texts=[f"attempt {number:g} step {step}"])
            tracker.rollouts(made_batch([Group(0, trajectory.task, (trajectory,))], step))


def test_what_came_after_the_step_continued_from_is_void_on_both_axes(tmp_path: Path) -> None:
    attempt(tmp_path, 0, 7, 0.0)
    attempt(tmp_path, 4, 6, 5.0)
    assert curve(tmp_path, "train/success") == [(s, 0.1 * s + (5.0 if s > 4 else 0.0)) for s in range(7)]
    over_tokens = [(1000 * s, 0.1 * s + (5.0 if s > 4 else 0.0)) for s in range(7)]
    assert curve(tmp_path, "by_tokens/train/success") == over_tokens
    assert curve(tmp_path, "by_tokens/eval/success") == [(0, 0.0), (2000, 0.02), (4000, 0.04), (6000, 5.06)]
    found = [line for text in shown_text(tmp_path, "trajectories/0") for line in text.splitlines() if "attempt" in line]
    assert [line.split("   ")[0] for line in found] == [
        "> attempt 0 step 1",
        "> attempt 0 step 3",
        "> attempt 5 step 5",
    ]


def test_continuing_twice_equals_never_stopping(tmp_path: Path) -> None:
    attempt(tmp_path / "whole", 0, 9, 0.0)
    for start, stop in ((0, 4), (3, 8), (6, 9)):
        attempt(tmp_path / "parts", start, stop, 0.0)

    def content(run: Path) -> list[tuple[int, list[bytes]]]:
        events = [e for e in read_events(run / "tb") if e.summary.value]
        return [
            (e.step, [v.SerializeToString() for v in e.summary.value])
            for e in events
            if e.summary.value[0].tag not in summaries.UNTIMED_TAGS
        ]

    assert content(tmp_path / "parts") == content(tmp_path / "whole")
    assert len(written(tmp_path / "parts")) == 1 and len(event_files(tmp_path / "parts" / "tb")) == 2


def test_beginning_again_leaves_nothing_of_the_past(tmp_path: Path) -> None:
    attempt(tmp_path, 0, 5, 0.0)
    attempt(tmp_path, 0, 1, 3.0)
    assert curve(tmp_path, "train/success") == [(0, 3.0), (1, 3.1)]
    assert len(shown_text(tmp_path, "trajectories/0")) == 1


@pytest.mark.parametrize("lost", [1, 5, 17, 40])
def test_a_record_cut_off_by_a_kill_is_dropped(tmp_path: Path, lost: int) -> None:
    attempt(tmp_path, 0, 4, 0.0)
    (file,) = event_files(tmp_path / "tb")
    file.write_bytes(file.read_bytes()[:-lost])
    attempt(tmp_path, 3, 4, 2.0)
    assert curve(tmp_path, "train/success") == [(0, 0.0), (1, 0.1), (2, 0.2), (3, 0.3), (4, 2.4)]


def test_a_kill_between_new_file_and_removal_of_the_old_one_doubles_nothing(tmp_path: Path) -> None:
    attempt(tmp_path, 0, 4, 0.0)
    (old,) = event_files(tmp_path / "tb")
    content = old.read_bytes()
    attempt(tmp_path, 2, 3, 1.0)
    old.write_bytes(content)
    (tmp_path / "tb" / ".tmp-events").write_bytes(b"half")
    attempt(tmp_path, 3, 4, 2.0)
    assert curve(tmp_path, "train/success") == [(0, 0.0), (1, 0.1), (2, 0.2), (3, 1.3), (4, 2.4)]
    assert curve(tmp_path, "by_tokens/train/success")[-1] == (4000, 2.4)
    assert len(written(tmp_path)) == 1


def test_a_watching_tensorboard_follows_a_continued_run(tmp_path: Path) -> None:
    attempt(tmp_path, 0, 5, 0.0)
    watching = read(tmp_path)
    attempt(tmp_path, 3, 4, 7.0)
    watching.Reload()
    scalars = watching.Scalars("train/success")
    assert [e.step for e in scalars] == [0, 1, 2, 3, 4]
    assert [e.value for e in scalars] == pytest.approx([0.0, 0.1, 0.2, 0.3, 7.4])
    assert [e.step for e in watching.Scalars("by_tokens/train/success")] == [0, 1000, 2000, 3000, 4000]


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


# --- faults ---


def test_a_folder_that_cannot_be_made_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "tb").write_text("a file is in the way")
    with pytest.raises(RunError, match=r"cannot write .*tb: "):
        started(tmp_path)


def test_a_disk_that_takes_no_more_is_one_clear_error(tmp_path: Path) -> None:
    """A limit on file size stands in for a full disk: the same failing write, without root."""
    code = f"""
        import resource, signal
        from tsrflow.components.trackers.config import TensorBoardConfig
        from tsrflow.components.trackers.tensorboard import TensorBoardTracker
        from tsrflow.errors import RunError
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        tracker = TensorBoardTracker(TensorBoardConfig())
        tracker.start({str(tmp_path)!r}, {{"a": 1}}, 0)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4000, resource.RLIM_INFINITY))
        try:
            for step in range(1000):
                tracker.scalars(step, {{"train/success": step}})
        except RunError as error:
            print(step, error)
    """
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], cwd=Path(__file__).parents[3], capture_output=True, text=True
    )
    step, message = result.stdout.split(" ", 1)
    assert message.startswith(f"cannot write {tmp_path / 'tb'}: ") and result.stderr == ""
    assert curve(tmp_path, "train/success") == [(s, float(s)) for s in range(int(step))]


def test_a_failed_copy_leaves_the_history_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    attempt(tmp_path, 0, 3, 0.0)

    def refuse(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(RunError, match="No space left"):
        started(tmp_path, 2)
    assert curve(tmp_path, "train/success") == [(0, 0.0), (1, 0.1), (2, 0.2), (3, 0.3)]
    assert len(written(tmp_path)) == 1


def test_use_before_start_or_after_finish_is_refused(tmp_path: Path) -> None:
    tracker = TensorBoardTracker(TensorBoardConfig())
    tracker.finish({})
    with pytest.raises(RuntimeError, match="not started"):
        tracker.scalars(1, {"a": 1.0})
    tracker = started(tmp_path)
    tracker.finish({})
    tracker.finish({})
    with pytest.raises(RuntimeError, match="finished"):
        tracker.rollouts(made_batch([made_group([1.0])]))


# --- the other tracker, and what both owe the rest ---


def test_the_null_tracker_writes_nothing(tmp_path: Path) -> None:
    tracker = NullTracker(NullTrackerConfig())
    tracker.start(str(tmp_path), HPARAMS, 0)
    tracker.scalars(1, points(1))
    tracker.rollouts(made_batch([made_group([1.0])]))
    tracker.finish({"status": "finished"})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("tracker", [NullTracker(NullTrackerConfig()), TensorBoardTracker(TensorBoardConfig())])
def test_trackers_follow_the_protocol(tracker: Any) -> None:
    assert isinstance(tracker, Tracker)


def test_no_tracker_imports_torch() -> None:
    code = "import sys, tsrflow.components.trackers.tensorboard; print('torch' in sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(__file__).parents[3], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "False"
