"""The command line as a whole, in this process or a fresh one."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli import job_functions as does
from tsrflow.cli import sweep, train
from tsrflow.cli.main import main
from tsrflow.cli.preflight import preflight
from tsrflow.config import compose
from tsrflow.registry import KINDS, registry

ROOT = Path(__file__).resolve().parents[2]
TARGET = "tests.cli.job_functions:job"


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The message of a command line that must fail with exit code 2 before it does anything."""
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    printed = capsys.readouterr()
    assert caught.value.code == 2 and printed.out == "" and not list(Path.cwd().iterdir())
    assert "Traceback" not in printed.err
    return printed.err


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["search=beem"], "tsrflow: search=beem: no such search; known: "),
        (["rollout.tasks=0"], "tsrflow: rollout.tasks=0: must be >= 1\n"),
        (["-m", "search=bon,beam", "optimizer.lr=-1,1e-3"], "tsrflow: optimizer.lr=-1: must be >= 0 (in 2 of 4 jobs; "),
        (["bogus.key=1"], "tsrflow: bogus.key=1: no such key; "),
        (["model=pretrained"], "tsrflow: model.path: required and has no default"),
        (["search=beem", "--cfg", "job"], "tsrflow: search=beem: no such search; "),
        (["search=beem", "--help"], "tsrflow: search=beem: no such search; "),
        (["-m", "seed=1,2", "hydra.launcher.n_jobs=0"], "tsrflow: hydra.launcher.n_jobs=0: must be int >= 1"),
        (["--config-name=other"], "tsrflow: --config-name, --config-path: not supported"),
        (["--config-dir=/no/such/folder"], "tsrflow: --config-dir=/no/such/folder: no such folder"),
        (["hydra.run.dir=/dev/null/run"], "tsrflow: run folder /dev/null/run: cannot be written: Not a directory"),
        (["componnts"], "tsrflow: componnts: no such verb; verbs are "),
        (["rollout.tasks"], "tsrflow: rollout.tasks: no such verb; "),
        (["components", "searc"], "tsrflow: components searc: no such kind; known: "),
        (["components", "env", "search"], "tsrflow: components env search: takes at most one kind"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistakes_end_with_one_message_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], expected: str
) -> None:
    text = refused(capsys, *arguments)
    assert text.startswith(expected) and len(text.splitlines()) == 1


def test_verbs_suggest_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(capsys, "componentz").endswith("did you mean 'components'?\n")


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--version"])
    assert capsys.readouterr().out.startswith("tsrflow 0.")


def test_interrupt_is_130(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(train, "train", interrupted)
    with pytest.raises(SystemExit) as caught:
        main([])
    assert caught.value.code == 130 and capsys.readouterr().err == "tsrflow: interrupted\n"


def test_help_names_everything_and_stays_light() -> None:
    """At most two seconds of CPU time, and no heavy library, although all components are known."""
    code = (
        "import sys; from tsrflow.cli.main import main; main(['--help']);"
        "print('HEAVY', [m for m in ('torch', 'transformers', 'lightning', 'vllm') if m in sys.modules])"
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.stdout.splitlines()[-1] == "HEAVY []"
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime <= 2.0
    for spec in registry().specs():
        assert spec.name in done.stdout
    for text in ("frozenlake_slippery", "debug", "tasks=8", "components", "warmup", "-m search=bon,beam", "seed=1"):
        assert text in done.stdout
    assert "/base" not in done.stdout


def test_help_shows_the_settings_of_what_was_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    main(["search=lookahead", "optimizer=ppo", "--help"])
    text = capsys.readouterr().out
    assert "depth=2" in text and "width=2" not in text


def test_runs_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "tsrflow", "--version"], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0 and done.stdout.startswith("tsrflow ")


@pytest.mark.parametrize("kind", [None, *KINDS])
def test_components_lists_every_setting(kind: str | None, capsys: pytest.CaptureFixture[str]) -> None:
    main(["components", *([kind] if kind else [])])
    text = capsys.readouterr().out
    for spec in registry().specs():
        listed = f"{spec.kind}={spec.name} " in text
        assert listed is (kind in (None, spec.kind))
        for name in spec.config.model_fields:
            assert not listed or name == "name" or f"{spec.kind}.{name} " in text


def test_components_shows_values_default_meaning_and_origin(capsys: pytest.CaptureFixture[str]) -> None:
    main(["components", "search"])
    row = next(line for line in capsys.readouterr().out.splitlines() if "search.aggregate" in line)
    assert [cell.strip() for cell in row.split("│")[2:4]] == ["auto|max|mean", "auto"]
    main(["components", "model"])
    text = capsys.readouterr().out
    row = next(line for line in text.splitlines() if "model.path" in line and "nothing is downloaded" in line)
    assert [cell.strip() for cell in row.split("│")[2:4]] == ["text", "required"]
    assert "│ tsrflow" in text


def test_a_broken_plugin_is_one_line_on_stderr(tmp_path: Path) -> None:
    site = tmp_path / "site"
    info = site / "broken_dist-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-dist\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[tsrflow]\nbroken = no_such_module\n", encoding="utf-8")
    path = os.pathsep.join((str(site), str(ROOT)))
    environment = {**os.environ, "PYTHONPATH": path, "TSRFLOW_PLUGINS": "broken"}
    command = [sys.executable, "-m", "tsrflow", "components", "scorer"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0 and "scorer=progress" in done.stdout
    assert done.stderr.startswith("tsrflow: warning: plugin broken-dist (no_such_module) was skipped: ModuleNotFound")
    strict = subprocess.run(command, capture_output=True, text=True, env={**environment, "TSRFLOW_STRICT_PLUGINS": "1"})
    assert strict.returncode == 2 and strict.stderr.startswith("tsrflow: plugin broken-dist (no_such_module) is broken")


@pytest.fixture
def _small_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sweeps run the job function of these tests, in processes as real as ever."""
    original = sweep.run_sweep
    monkeypatch.setattr(train, "run_sweep", lambda jobs: original(jobs, TARGET, preload=()))


@pytest.mark.usefixtures("_small_jobs")
def test_a_sweep_ends_with_a_table_and_says_if_a_job_failed(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["-m", f"seed={does.GOOD},{does.REFUSES}", "search=naive"])
    printed = capfd.readouterr()
    assert caught.value.code == 1
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in printed.out.splitlines() if "│" in line]
    assert [row[1:] for row in rows] == [
        ["finished", "0.500", "[0.400, 0.600]", "1,234", "1.5"],
        ["failed", "", "", "", ""],
    ]
    assert [row[0].rsplit("-", 1)[0] for row in rows] == [
        "naive-grpo-frozenlake-tiny-s1",
        "naive-grpo-frozenlake-tiny-s2",
    ]
    assert ": no more disk" in printed.out.splitlines()[-1] and "no more disk" in printed.err


@pytest.mark.usefixtures("_small_jobs")
def test_a_sweep_keeps_what_hydra_keeps(capfd: pytest.CaptureFixture[str]) -> None:
    main(["-m", "seed=1,11", "search=naive", "hydra.sweep.dir=out", "hydra.sweep.subdir='${hydra.job.num}'"])
    for number, seed in enumerate((1, 11)):
        folder = Path("out") / str(number) / ".hydra"
        assert f"seed: {seed}\n" in (folder / "config.yaml").read_text()
        assert (folder / "overrides.yaml").read_text() == f"- seed={seed}\n- search=naive\n"
        assert f"num: {number}\n" in (folder / "hydra.yaml").read_text()


@pytest.mark.usefixtures("_small_jobs")
def test_a_sweep_takes_environment_and_workers_from_hydra(capfd: pytest.CaptureFixture[str]) -> None:
    overrides = ["seed=1,11", "+hydra.job.env_set.JOB_FLAVOUR=mint", "hydra.launcher.n_jobs=2", "hydra.sweep.dir=out"]
    compose.register()
    outcomes = sweep.run_sweep(preflight(overrides, sweep=True), TARGET, preload=())
    assert [outcome.summary["environment"] for outcome in outcomes] == ["mint", "mint"]


@pytest.mark.slow
@pytest.mark.parametrize("launcher", ["process", "basic"])
def test_a_real_sweep_trains_and_is_not_repeated(launcher: str) -> None:
    tiny = ["experiment=debug", "trainer.max_steps=1", "rollout.tasks=1", "eval.tasks=2", "eval.every=0"]
    command = [sys.executable, "-m", "tsrflow", "-m", "search=naive", "model.path=null,/no/model", *tiny]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    for _ in range(2):
        done = subprocess.run(
            [*command, f"hydra/launcher={launcher}"], capture_output=True, text=True, env=environment, timeout=120
        )
        assert done.returncode == 1, done.stderr
        assert "Traceback" not in done.stderr
        assert done.stderr.count("model.path=/no/model: no such folder") == 1
    good, bad = sorted(Path("runs").glob("naive-*"), key=lambda folder: not (folder / "DONE").is_file())
    assert json.loads((good / "summary.json").read_text())["status"] == "finished"
    assert not (bad / "DONE").exists() and (good / ".hydra" / "config.yaml").is_file()
    assert "finished before" in done.stdout or launcher == "basic"


@pytest.mark.slow
@pytest.mark.parametrize(("override", "code"), [("model.path=/no/model", 2), ("seed=3", 0)])
def test_a_real_run_ends_with_its_own_exit_code(override: str, code: int) -> None:
    tiny = ["experiment=debug", "trainer.max_steps=1", "rollout.tasks=1", "eval.tasks=2", "eval.every=0"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "tsrflow", "hydra.run.dir=run", override, *tiny]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == code, done.stderr
    assert (Path("run") / "DONE").exists() is (code == 0)
    assert len(done.stderr.splitlines()) == (code != 0), done.stderr
    assert "Traceback" not in done.stderr
