"""Everything that is wrong with a command line is found before anything starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tsrflow.cli.preflight import check_composition, preflight
from tsrflow.config import compose
from tsrflow.config.schema import RunConfig
from tsrflow.errors import ConfigError


@pytest.fixture(autouse=True)
def _registered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    compose.register()


def message(*overrides: str, sweep: bool = False) -> str:
    with pytest.raises(ConfigError) as caught:
        preflight(overrides, sweep)
    return str(caught.value)


def test_a_single_job() -> None:
    (job,) = preflight(["search=bon", "search.n=3", "seed=4"])
    assert job.config == RunConfig(search={"name": "bon", "n": 3}, seed=4)
    assert job.folder == Path("runs") / job.config.run_name()
    assert job.launcher == "process"


def test_a_grid_is_expanded_as_hydra_does_it() -> None:
    jobs = preflight(["search=naive,bon,beam,lookahead", "optimizer=ppo,grpo", "seed=2"], sweep=True)
    assert [(j.config.search.name, j.config.optimizer.name) for j in jobs] == [
        (search, optimizer) for search in ("naive", "bon", "beam", "lookahead") for optimizer in ("ppo", "grpo")
    ]
    assert {j.config.seed for j in jobs} == {2}
    assert len({j.folder for j in jobs}) == 8


@pytest.mark.parametrize("values", ["range(1,4)", "1,2,3", "choice(1,2,3)"])
def test_ways_to_sweep(values: str) -> None:
    assert [job.config.seed for job in preflight([f"seed={values}"], sweep=True)] == [1, 2, 3]


def test_the_sweepers_own_parameters_count(tmp_path: Path) -> None:
    preset = tmp_path / "mine" / "experiment" / "seeds.yaml"
    preset.parent.mkdir(parents=True)
    preset.write_text("# @package _global_\nhydra:\n  sweeper:\n    params:\n      seed: 5,6\n", encoding="utf-8")
    path = f"hydra.searchpath=['file://{tmp_path / 'mine'}']"
    jobs = preflight(["experiment=seeds", path, "search=naive,bon"], sweep=True)
    assert [(job.config.seed, job.config.search.name) for job in jobs] == [
        (5, "naive"),
        (5, "bon"),
        (6, "naive"),
        (6, "bon"),
    ]


def test_folders_follow_hydras_settings() -> None:
    (job,) = preflight(["hydra.run.dir=out/${search.name}"])
    assert job.folder == Path("out/beam")
    jobs = preflight(["seed=1,2", "hydra.sweep.dir=out", "hydra.sweep.subdir='${hydra.job.num}_${seed}'"], sweep=True)
    assert [job.folder for job in jobs] == [Path("out/0_1"), Path("out/1_2")]


def test_user_presets_are_found_on_the_search_path(tmp_path: Path) -> None:
    preset = tmp_path / "mine" / "experiment" / "quick.yaml"
    preset.parent.mkdir(parents=True)
    preset.write_text("# @package _global_\nrollout:\n  tasks: 3\n", encoding="utf-8")
    (job,) = preflight(["experiment=quick", f"hydra.searchpath=['file://{tmp_path / 'mine'}']"])
    assert job.config.rollout.tasks == 3


SINGLE = [
    ("search=beem", "search=beem: no such search; known: beam, bon, lookahead, naive; did you mean 'beam'?"),
    ("experiment=debub", "experiment=debub: no such experiment; known: dapo, debug; did you mean 'debug'?"),
    ("hydra/launcher=joblab", "hydra/launcher=joblab: no such hydra/launcher; known: "),
    ("rollout.tasks=0", "rollout.tasks=0: must be >= 1"),
    ("bogus.key=1", "bogus.key=1: no such key; there are env, search, scorer, optimizer, filter, generator, model, "),
    ("tasks=3", "; did you mean 'rollout.tasks' or 'eval.tasks'?"),
    ("searsh=bon", "; did you mean 'search'?"),
    ("+bogus=1", "bogus=1: no such key; there are "),
    ("search.n=3", "search.n=3: no such key; search=beam has width, candidates"),
    ("hydra.run.dri=x", "hydra.run.dri=x: no such key; did you mean 'hydra.run.dir'?"),
    ("model=pretrained", "model.path: required and has no default (Local folder; nothing is downloaded.)"),
    ("search=[beam", "search=[beam: not of the form key=value that Hydra reads: "),
    ("seed=1,2", "seed=1,2: several values; add -m to run them all, or [...] for a list"),
    ("rollout.tasks=${gone}", "rollout.tasks: Interpolation key 'gone' not found"),
    ("search.name=bon", "search.name=bon: a component is chosen with search=bon"),
    ("rollout.keep=4", "rollout.keep=4: search=beam returns at most 2 per search"),
    ("+search.width=3", "already at 'search.width'"),
    ("+model.path.deeper=3", "model.path={deeper:3}: must be text or null"),
    ("+hydra.sweeper.params.seed=3", "Unexpected type"),
    ("env.size=2", "env.size=2: must be >= 4 and <= 16"),
]


@pytest.mark.parametrize(("override", "expected"), SINGLE, ids=[override for override, _ in SINGLE])
def test_one_mistake_is_one_line(override: str, expected: str) -> None:
    text = message(override)
    assert expected in text and len(text.splitlines()) == 1


def test_unknown_keys_are_judged_by_the_chosen_component() -> None:
    assert preflight(["search=bon", "search.n=3"])
    text = message("search=bon", "search.width=3")
    assert text == "search.width=3: no such key; search=bon has n, scope; did you mean 'search.n'?"


def test_all_mistakes_of_one_command_line_are_reported() -> None:
    assert message("rollout.tasks=0", "optimizer.lr=-1", "env.slip=2").splitlines() == [
        "env.slip=2: must be > 0 and <= 1",
        "optimizer.lr=-1: must be >= 0",
        "rollout.tasks=0: must be >= 1",
    ]


def test_mistakes_of_a_grid_say_how_many_jobs_they_hit() -> None:
    text = message("search=bon,beem", "optimizer.lr=-1,1e-3", sweep=True)
    assert text.splitlines() == [
        "optimizer.lr=-1: must be >= 0 (in 1 of 4 jobs; none was started)",
        "search=beem: no such search; known: beam, bon, lookahead, naive; did you mean 'beam'? "
        "(in 2 of 4 jobs; none was started)",
    ]
    assert message("search=bon,beam", "rollout.tasks=0", sweep=True) == "rollout.tasks=0: must be >= 1"


@pytest.mark.parametrize("values", ["seed=1,1", "tracker=none,tensorboard", "resume=auto,never"])
def test_two_jobs_of_one_folder_are_refused(values: str) -> None:
    text = message(values, sweep=True)
    assert "would have the run folder runs/beam-grpo-frozenlake-tiny-s1-" in text


def test_another_sweeper_leaves_the_grid_to_it_but_needs_hydras_launcher(tmp_path: Path) -> None:
    sweeper = tmp_path / "mine" / "hydra" / "sweeper" / "other.yaml"
    sweeper.parent.mkdir(parents=True)
    sweeper.write_text("_target_: some.where.OtherSweeper\n", encoding="utf-8")
    base = [f"hydra.searchpath=['file://{tmp_path / 'mine'}']", "hydra/sweeper=other", "optimizer.lr=interval(0,1)"]
    assert message(*base, sweep=True).startswith("hydra/sweeper=other: needs a launcher of Hydra's")
    assert preflight([*base, "hydra/launcher=basic"], sweep=True) == []
    assert message(*base, "hydra/launcher=basic", "rollout.tasks=0", sweep=True) == "rollout.tasks=0: must be >= 1"


def test_composition_alone_does_not_look_at_values() -> None:
    check_composition(["rollout.tasks=0", "model=pretrained"])
    with pytest.raises(ConfigError, match=r"^search=beem: no such search"):
        check_composition(["search=beem"])


def test_hydra_is_left_as_it_was() -> None:
    from hydra.core.global_hydra import GlobalHydra
    from hydra.core.hydra_config import HydraConfig

    preflight(["seed=1,2"], sweep=True)
    assert not GlobalHydra.instance().is_initialized() and not HydraConfig.initialized()
