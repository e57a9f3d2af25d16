"""Jobs in real fresh processes: isolation, failures, kills, interrupts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli import job_functions as does
from tsrflow.cli.jobs import JobSpec, Outcome, finished_before, outcome_of, run_jobs
from tsrflow.config.schema import RunConfig, parse

ROOT = Path(__file__).resolve().parents[2]
TARGET = "tests.cli.job_functions:job"


def spec(folder: Path, seed: int = does.GOOD, **settings: object) -> JobSpec:
    return JobSpec(parse({"seed": seed, **settings}), folder / f"job{seed}")


def run(specs: list[JobSpec], n_jobs: int = 1) -> list[Outcome]:
    return run_jobs(specs, n_jobs, TARGET, preload=())


def test_every_job_has_a_process_of_its_own(tmp_path: Path) -> None:
    outcomes = run([JobSpec(RunConfig(), tmp_path / name) for name in "abc"])
    assert [outcome.status for outcome in outcomes] == ["finished"] * 3
    pids = {outcome.summary["pid"] for outcome in outcomes}
    assert len(pids) == 3 and os.getpid() not in pids
    assert [outcome.summary["runs_in_this_process"] for outcome in outcomes] == [1, 1, 1]


def test_a_job_that_fails_or_is_killed_does_not_stop_the_others(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    seeds = [does.REFUSES, does.CRASHES, does.IS_KILLED, does.EXITS, does.GOOD]
    outcomes = run([spec(tmp_path, seed) for seed in seeds])
    assert [(o.status, o.error) for o in outcomes] == [
        ("failed", "no more disk"),
        ("failed", "ZeroDivisionError: by nothing"),
        ("killed", "killed by signal 9 (SIGKILL)"),
        ("failed", "ended with exit code 3 and no result"),
        ("finished", ""),
    ]
    assert f"tsrflow: {tmp_path / 'job2'}: no more disk\n" in capfd.readouterr().err


def script(folder: Path, seed: int) -> list[str]:
    """A command that runs one job in a parent process of its own."""
    code = (
        "from pathlib import Path\n"
        "from tests.cli.test_jobs import spec, run\n"
        f"run([spec(Path({str(folder)!r}), {seed})])\n"
    )
    return [sys.executable, "-c", code]


def test_a_bug_is_shown_with_its_place_an_expected_error_is_not(tmp_path: Path) -> None:
    for seed, traceback in ((does.CRASHES, True), (does.REFUSES, False)):
        done = subprocess.run(script(tmp_path, seed), capture_output=True, text=True, cwd=ROOT)
        assert ("Traceback" in done.stderr and "job_functions.py" in done.stderr) is traceback


def test_on_error_stop_ends_the_sweep(tmp_path: Path) -> None:
    outcomes = run([spec(tmp_path, does.REFUSES, on_error="stop"), spec(tmp_path, does.GOOD, on_error="stop")])
    assert [outcome.status for outcome in outcomes] == ["failed", "not run"]
    assert not (tmp_path / "job1").exists()


def test_several_jobs_at_a_time_keep_their_order(tmp_path: Path) -> None:
    specs = [spec(tmp_path, does.REFUSES), *(JobSpec(RunConfig(), tmp_path / name) for name in "ab")]
    outcomes = run(specs, n_jobs=2)
    assert [outcome.folder for outcome in outcomes] == [s.folder for s in specs]
    assert [outcome.status for outcome in outcomes] == ["failed", "finished", "finished"]


def test_environment_is_the_jobs_alone(tmp_path: Path) -> None:
    specs = [
        JobSpec(RunConfig(), tmp_path / "a", environment={"JOB_FLAVOUR": "lemon"}),
        JobSpec(RunConfig(), tmp_path / "b"),
    ]
    assert [outcome.summary["environment"] for outcome in run(specs)] == ["lemon", ""]
    assert "JOB_FLAVOUR" not in os.environ


def finished_folder(config: RunConfig, folder: Path) -> None:
    folder.mkdir()
    (folder / "DONE").write_text(config.config_hash() + "\n", encoding="utf-8")
    (folder / "summary.json").write_text(json.dumps({"eval/success": 0.9}), encoding="utf-8")


def test_a_finished_job_is_not_run_again(tmp_path: Path) -> None:
    config = RunConfig()
    finished_folder(config, tmp_path / "a")
    (outcome,) = run([JobSpec(config, tmp_path / "a")])
    assert outcome.status == "finished before" and outcome.ok and outcome.summary == {"eval/success": 0.9}
    assert not (tmp_path / "a" / "pid").exists()


def test_finished_means_this_config_and_resume_auto(tmp_path: Path) -> None:
    config = RunConfig()
    finished_folder(config, tmp_path / "a")
    assert finished_before(config, tmp_path / "a")
    assert finished_before(RunConfig(seed=2), tmp_path / "a") is None
    assert finished_before(RunConfig(resume="restart"), tmp_path / "a") is None
    assert finished_before(config, tmp_path / "b") is None


def test_outcome_is_read_from_a_folder_that_another_launcher_filled(tmp_path: Path) -> None:
    config = RunConfig()
    assert outcome_of(config, tmp_path).status == "failed"
    for summary, expected in (
        ({"status": "finished", "config_hash": config.config_hash()}, ("finished", "")),
        ({"status": "failed", "config_hash": config.config_hash(), "error": "why"}, ("failed", "why")),
        ({"status": "finished", "config_hash": "of another run"}, ("failed", "no summary was written")),
    ):
        (tmp_path / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
        outcome = outcome_of(config, tmp_path)
        assert (outcome.status, outcome.error) == expected


def test_a_folder_that_cannot_be_prepared_fails_its_job_only(tmp_path: Path) -> None:
    def prepare(index: int) -> None:
        if index == 0:
            (tmp_path / "file").touch()
            (tmp_path / "file" / "sub").mkdir()

    specs = [spec(tmp_path, does.GOOD), JobSpec(RunConfig(), tmp_path / "b")]
    first, second = run_jobs(specs, 1, TARGET, (), prepare)
    assert first.status == "failed" and first.error.startswith("cannot write ")
    assert second.status == "finished"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, -signal.SIGINT), (signal.SIGTERM, 143)])
def test_interrupt_ends_the_running_jobs_and_leaves_nobody_behind(tmp_path: Path, number: int, code: int) -> None:
    process = subprocess.Popen(script(tmp_path, does.HANGS), cwd=ROOT, stderr=subprocess.PIPE)
    pid_file = tmp_path / "job5" / "pid"
    try:
        waited = time.monotonic() + 30
        while not (pid_file.is_file() and pid_file.read_text()) and time.monotonic() < waited:
            time.sleep(0.05)
        job = int(pid_file.read_text())
        process.send_signal(number)
        process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == code
    assert (tmp_path / "job5" / "interrupted").exists()
    with pytest.raises(ProcessLookupError):
        os.kill(job, 0)
