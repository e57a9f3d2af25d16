"""Runs that are continued, begun again or killed: what stays of their curves."""

# mypy: disable-error-code="import-untyped"

from __future__ import annotations

from pathlib import Path

import pytest

from tests.components.trackers.reading import (
    attempt,
    curve,
    read,
    shown_text,
    written,
)
from tsrflow.components.trackers import summaries
from tsrflow.components.trackers.event_file import event_files, read_events


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
