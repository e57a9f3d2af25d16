"""Faults while writing, and what every tracker owes the rest."""

# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from tests.components.made import made_batch, made_group
from tests.components.trackers.reading import (
    HPARAMS,
    attempt,
    curve,
    points,
    started,
    written,
)
from tsrflow.components.trackers.config import NullTrackerConfig, TensorBoardConfig
from tsrflow.components.trackers.null import NullTracker
from tsrflow.components.trackers.tensorboard import TensorBoardTracker
from tsrflow.errors import RunError
from tsrflow.protocols import Tracker

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
