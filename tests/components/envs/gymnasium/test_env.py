"""The adapter: Gymnasium's numbers as text, its ends as the protocol wants them."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from tests.components.envs.gymnasium.made import env, local, newest
from tsrflow.config.schema import parse
from tsrflow.errors import ConfigError
from tsrflow.testing import check_env
from tsrflow.types import Split

SPLITS: tuple[Split, ...] = ("train", "validation", "test")
LAKE = {"kwargs": {"is_slippery": False}, "actions": ("Left", "Down", "Right", "Up")}
TO_THE_GOAL = ["Down", "Down", "Right", "Right", "Down", "Right"]


def play(world: Any, actions: list[str], index: int = 0) -> list[Any]:
    world.reset(world.task("train", index))
    return [world.step(action) for action in actions]


def test_a_walk_over_the_frozen_lake() -> None:
    world = env("FrozenLake-v1", **LAKE, max_turns=3)
    first, info = world.reset(world.task("train", 0))
    assert (first, info) == ("red[S]FFF\nFHFH\nFFFH\nHFFG", {"success": False})
    *way, last = play(world, TO_THE_GOAL)
    assert way[0] == ("  (Down)\nSFFF\nred[F]HFH\nFFFH\nHFFG", 0.0, False, False, {"success": False})
    assert last[1:] == (1.0, True, False, {"success": True}) and world.legal_actions() == ()
    assert play(world, ["Right", "Down"])[-1][1:] == (0.0, True, False, {"success": False})


def test_it_says_what_gymnasium_says_step_for_step() -> None:
    """Same reset, same numbers: in a deterministic world the adapter adds and loses nothing."""
    for name in ("CartPole", "Taxi", "CliffWalking"):
        world = env(newest(name), action_mask=False, observation="space", max_actions=60, digits=6)
        rng = np.random.default_rng(0)
        for index in range(3):
            task = world.task("train", index)
            plain = gymnasium.make(newest(name))
            seen, _ = plain.reset(seed=task.seed % 2**31)
            text, _ = world.reset(task)
            for _ in range(40):
                assert [float(part) for part in text.split()] == pytest.approx(np.atleast_1d(seen), abs=1e-6)
                action = int(rng.integers(len(world.legal_actions())))
                seen, reward, terminated, truncated, _ = plain.step(action)
                text, gained, *ends, _ = world.step(str(action))
                assert (gained, *ends) == (float(reward), terminated, truncated)
                if terminated or truncated:
                    break


def test_actions_have_the_names_of_the_config_of_the_world_or_their_numbers() -> None:
    assert env("FrozenLake-v1", **LAKE).legal_actions() == ()
    for world, names in (
        (env("FrozenLake-v1", **LAKE), LAKE["actions"]),
        (env("FrozenLake-v1"), ("0", "1", "2", "3")),
        (env(local("Masked"), action_mask=False), ("west", "east")),
    ):
        world.reset(world.task("train", 0))
        assert world.legal_actions() == names
        assert f"Actions: {', '.join(names)}." in world.instructions(False)
        assert world.instructions(True) == f"Actions: {', '.join(names)}."
        assert [world.parse_action(f" {name.upper()} ") for name in names] == list(names)


def test_the_mask_rules_actions_out() -> None:
    world = env(local("Masked"))
    index = next(i for i in range(50) if world.reset(world.task("train", i))[0] == "0")
    world.reset(world.task("train", index))
    assert world.legal_actions() == ("east",)
    before = world.state_hash()
    assert world.step("west") == ("0", 0.0, False, False, {"success": False, "invalid": True})
    assert world.state_hash() == before
    assert world.step("east")[0] == "1" and world.legal_actions() == ("west", "east")
    taxi = env(newest("Taxi"))
    taxi.reset(taxi.task("train", 0))
    assert 1 <= len(taxi.legal_actions()) < 6
    check_env(world, tasks=2)


def test_a_mask_that_leaves_nothing_masks_nothing() -> None:
    world = env(local("Masked"), kwargs={"empty": True})
    world.reset(world.task("train", 0))
    assert world.legal_actions() == ("west", "east")


def test_the_budget_truncates_and_gymnasiums_limit_does() -> None:
    world = env("FrozenLake-v1", **LAKE, max_turns=2, actions_per_turn=2)
    assert [step[2:4] for step in play(world, ["Left"] * 4)] == [(False, False)] * 3 + [(False, True)]
    assert world.legal_actions() == () and world.step("Left")[4]["invalid"]
    limited = env(local("Corridor"), max_actions=1000)
    steps = play(limited, ["0"] * 40)
    assert [step[3] for step in steps] == [False] * 39 + [True]


@pytest.mark.parametrize(
    ("settings", "steps", "success"),
    [
        ({}, 4, True),
        ({"success_at": 1.5}, 4, False),
        ({"success": "reward", "success_at": 1.0}, 4, True),
        ({"success": "terminated"}, 4, True),
        ({"success": "info"}, 4, True),
        ({"success": "reach", "success_at": 0.0}, 1, True),
    ],
)
def test_what_counts_as_success(settings: dict[str, Any], steps: int, success: bool) -> None:
    world = env(local("Corridor"), **settings)
    index = next(i for i in range(50) if world.reset(world.task("train", i))[0] == "0")
    played = play(world, ["1"] * steps, index)
    assert [step[4]["success"] for step in played] == [False] * (steps - 1) + [success]
    assert played[-1][2:4] == (True, False)


def test_surviving_is_a_success_only_where_the_config_says_so() -> None:
    balanced = ["0", "1"] * 5
    plain = play(env(newest("CartPole"), max_actions=10), balanced)
    assert plain[-1][2:] == (False, True, {"success": False})
    reached = play(env(newest("CartPole"), max_actions=10, success="reach", success_at=10), balanced)
    assert reached[-1][2:] == (True, False, {"success": True})


def test_gymnasiums_threshold_is_the_default() -> None:
    assert env("FrozenLake-v1")._enough == 0.7
    assert 0 < env(newest("Blackjack"))._enough < 1e-300


def test_tasks_of_different_splits_have_different_reset_seeds() -> None:
    world = env("FrozenLake-v1")
    seeds = {split: {world.task(split, i).seed % 2**31 for i in range(300)} for split in SPLITS}
    assert all(len(found) == 300 for found in seeds.values())
    assert not (seeds["train"] & seeds["validation"] or seeds["train"] & seeds["test"])
    assert not seeds["validation"] & seeds["test"]


def test_tasks_can_be_split_by_where_they_start() -> None:
    world = env(newest("Taxi"), split_by="start", observation="space")
    starts = {split: {world.reset(world.task(split, i))[0] for i in range(60)} for split in SPLITS}
    assert not (starts["train"] & starts["validation"] or starts["train"] & starts["test"])
    assert not starts["validation"] & starts["test"]
    lake = env("FrozenLake-v1", split_by="start")
    with pytest.raises(ConfigError, match=r"env\.split_by=start: FrozenLake-v1 has too few different starts"):
        [lake.task(split, 0) for split in SPLITS]


def test_every_space_goes_through_the_contract() -> None:
    for space in (
        spaces.Dict(at=spaces.Discrete(3), view=spaces.Box(-1, 1, (2, 2))),
        spaces.Tuple([spaces.Text(5), spaces.MultiDiscrete([2, 3])]),
    ):
        check_env(env(local("Seeing"), kwargs={"space": space}), tasks=2, steps=6)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, r"env\.id: required and has no default"),
        ({"id": "FrozenLak-v1"}, r"env: id=FrozenLak-v1: no such environment; did you mean 'FrozenLake-v1'\?"),
        ({"id": "Nothing/Alike-v0"}, "env: id=Nothing/Alike-v0: no such environment: Namespace Nothing not found"),
        ({"id": "no_such_module:Foo-v0"}, "env: id=no_such_module:Foo-v0: No module named 'no_such_module'"),
        ({"id": "Pendulum-v1"}, r"env: id=Pendulum-v1: its action space is Box\(.*\); only Discrete ones can be named"),
        ({"id": "FrozenLake-v1", "kwargs": {"ice": 3}}, r"cannot be made with kwargs=\{ice:3\}: .*unexpected keyword"),
        ({"id": "FrozenLake-v1", "actions": ["a", "b"]}, r"actions=\[a,b\]: 2 names, but FrozenLake-v1 has 4 actions"),
        ({"id": "FrozenLake-v1", "actions": ["a", "b", "c", "A"]}, r"actions=\[a,b,c,A\]: names must be different"),
        ({"id": "FrozenLake-v1", "actions": ["a", "b", "c", "d||e"]}, r"hold none of \|\|"),
        (
            {"id": "CartPole-v1", "observation": "ansi"},
            r"observation=ansi: CartPole-v1 draws .*, but no ansi; use space",
        ),
        ({"id": "FrozenLake-v1", "fork": "copy"}, r"env\.fork=copy: must be auto\|snapshot\|replay\|none"),
    ],
)
def test_what_cannot_be_played_is_one_clear_error(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as raised:
        parse({"env": {"name": "gymnasium", **settings}})
    assert len(str(raised.value).splitlines()) == 1


def test_an_image_is_refused_where_no_picture_in_characters_exists() -> None:
    image = spaces.Box(0, 255, (64, 64, 3), np.uint8)
    with pytest.raises(ConfigError, match="an observation of 12288 numbers is too long to read"):
        parse({"env": {"name": "gymnasium", "id": local("Seeing"), "kwargs": {"space": image}}})


def test_a_module_is_imported_for_its_id() -> None:
    world = env(f"tests.components.envs.gymnasium.worlds:{local('Corridor')}")
    check_env(world, tasks=2)
