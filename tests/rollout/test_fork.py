"""Handles by themselves: entering one again gives the same future, whatever happened in between."""

from __future__ import annotations

import pytest

from tsrflow.config.base import ForkCapability
from tsrflow.rollout.fork import Forker, Outcome, play_turn
from tsrflow.testing.scripted import TableEnv

TABLE = {"a": (0.5, False, False, 0.25), "ab": (1.0, True, True, 0.0)}
CAPABILITIES: list[ForkCapability] = ["snapshot", "deepcopy", "replay"]


def forker(capability: ForkCapability, env: type[TableEnv] = TableEnv) -> Forker:
    return Forker(lambda: env(TABLE, noise=0.1), capability)


def facts(outcome: Outcome) -> tuple[object, ...]:
    return (
        outcome.observation,
        outcome.reward,
        outcome.terminated,
        outcome.success,
        outcome.potential,
        outcome.state_hash,
    )


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_a_handle_can_be_entered_again_after_others_were_played(capability: ForkCapability) -> None:
    copies, beats = forker(capability), []
    beat = lambda: beats.append(1)  # noqa: E731
    task = TableEnv({}).task("train", 0)
    _, root, _ = copies.root(task, 11)
    first, _ = play_turn(copies, root, None, ("a",), "", beat)
    play_turn(copies, root, 5, ("c", "d"), "", beat)
    copies.root(TableEnv({}).task("train", 1), 12)
    again, _ = play_turn(copies, root, None, ("a",), "", beat)
    below, env = play_turn(copies, first.handle, None, ("b", "c"), "", beat)
    assert facts(first) == facts(again)
    assert (below.success, below.terminated, env.state_hash()) == (True, True, "ab")


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_a_seed_restarts_the_dynamics_and_none_lets_them_run_on(capability: ForkCapability) -> None:
    copies = forker(capability)
    _, root, _ = copies.root(TableEnv({}).task("train", 0), 11)
    rewards = [play_turn(copies, root, seed, ("c",), "", lambda: None)[0].reward for seed in (None, 11, 12, 12)]
    assert rewards[0] == rewards[1] != rewards[2] == rewards[3]


def test_a_beat_precedes_every_step_and_every_replayed_one() -> None:
    copies, beats = forker("replay"), []
    _, root, _ = copies.root(TableEnv({}).task("train", 0), 11)
    outcome, _ = play_turn(copies, root, 1, ("c", "c"), "", lambda: beats.append(1))
    assert (outcome.steps, len(beats)) == (2, 3)
    beats.clear()
    outcome, _ = play_turn(copies, outcome.handle, 1, ("c",), "", lambda: beats.append(1))
    assert (outcome.steps, len(beats)) == (3, 4)


@pytest.mark.parametrize("capability", [*CAPABILITIES, "none"])
def test_a_turn_without_actions_leaves_the_state_and_the_observation(capability: ForkCapability) -> None:
    copies = forker(capability)
    _, root, _ = copies.root(TableEnv({}).task("train", 0), 11)
    outcome, env = play_turn(copies, root, None, (), "as before", lambda: None)
    assert (outcome.observation, outcome.reward, outcome.steps, env.state_hash()) == ("as before", 0.0, 0, "")
    assert play_turn(copies, outcome.handle, None, ("a",), "", lambda: None)[0].state_hash == "a"


def test_a_success_without_an_end_is_none() -> None:
    class Boastful(TableEnv):
        def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, object]]:
            observation, reward, terminated, truncated, _ = super().step(action)
            return observation, reward, terminated, truncated, {"success": True}

    copies = forker("snapshot", Boastful)
    _, root, _ = copies.root(TableEnv({}).task("train", 0), 11)
    outcome, _ = play_turn(copies, root, None, ("a",), "", lambda: None)
    assert not outcome.success


@pytest.mark.parametrize("what", ["observation", "reward", "potential"])
def test_what_no_scorer_could_compare_is_an_error_of_the_environment(what: str) -> None:
    class Broken(TableEnv):
        def step(self, action: str):  # type: ignore[no-untyped-def]
            observation, reward, *rest = super().step(action)
            return (
                None if what == "observation" else observation,
                float("inf") if what == "reward" else reward,
                *rest,
            )

        def potential(self) -> float | None:
            return float("nan") if what == "potential" else None

    copies = forker("snapshot", Broken)
    _, root, _ = copies.root(TableEnv({}).task("train", 0), 11)
    with pytest.raises(ValueError, match="they must be text and finite numbers"):
        play_turn(copies, root, None, ("a",), "", lambda: None)
