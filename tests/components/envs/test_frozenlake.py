"""FrozenLake: dynamics as Gymnasium's, maps that can be solved, splits that share nothing, exact forks."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv
from hypothesis import given, settings
from hypothesis import strategies as st

from tsrflow.components.envs.frozenlake import (
    ACTIONS,
    FrozenLake,
    FrozenLakeConfig,
    distances,
    draw_lake,
    moves,
    potentials,
)
from tsrflow.types import Split, Task

SPLITS: tuple[Split, ...] = ("train", "validation", "test")


def lake(**changes: object) -> FrozenLake:
    return FrozenLake(FrozenLakeConfig.model_validate(changes))


def started(env: FrozenLake, index: int = 0, split: Split = "train") -> Task:
    task = env.task(split, index)
    env.reset(task)
    return task


def as_gymnasium(env: FrozenLake, slip: float) -> FrozenLakeEnv:
    """The same map in Gymnasium's implementation."""
    here = env.lake
    rows = []
    for row in range(here.size):
        cells = range(row * here.size, (row + 1) * here.size)
        rows.append(
            "".join(
                "S" if c == here.start else "G" if c == here.goal else "H" if c in here.holes else "F" for c in cells
            )
        )
    return FrozenLakeEnv(desc=rows, is_slippery=slip < 1.0, success_rate=slip)


@pytest.mark.parametrize("slip", [1.0, 0.8, 1 / 3])
@pytest.mark.parametrize("size", [4, 5, 8])
def test_outcomes_and_probabilities_equal_gymnasiums_table(slip: float, size: int) -> None:
    env = lake(size=size, slip=slip, frozen=0.8)
    for index in range(30):
        started(env, index)
        here = env.lake
        table = as_gymnasium(env, slip).P
        for cell in range(size * size):
            if cell == here.goal or cell in here.holes:
                continue
            for action in range(4):
                ours: dict[tuple[int, float, bool], float] = {}
                side = (1.0 - slip) / 2.0
                for turned, chance in ((action - 1, side), (action, slip), (action + 1, side)):
                    reached = moves(size)[cell][turned % 4]
                    key = (reached, float(reached == here.goal), reached == here.goal or reached in here.holes)
                    ours[key] = ours.get(key, 0.0) + chance
                theirs: dict[tuple[int, float, bool], float] = {}
                for chance, reached, reward, done in table[cell][action]:
                    key = (int(reached), float(reward), bool(done))
                    theirs[key] = theirs.get(key, 0.0) + chance
                ours = {key: chance for key, chance in ours.items() if chance > 0}
                theirs = {key: chance for key, chance in theirs.items() if chance > 0}
                assert ours == pytest.approx(theirs)


@pytest.mark.parametrize("slip", [0.8, 1 / 3])
def test_slips_happen_as_often_as_configured(slip: float) -> None:
    env = lake(slip=slip, frozen=1.0, size=5, max_actions=1)
    started(env)
    here = env.lake
    board = env.snapshot()[0]
    middle = next(c for c in range(25) if c // 5 in (1, 2, 3) and c % 5 in (1, 2, 3) and c != here.goal)
    counts = np.zeros(4)
    for draw in range(6000):
        env.restore((board, middle, 0, False, 0))
        env.seed_dynamics(draw)
        env.step("Right")
        counts[moves(5)[middle].index(env.snapshot()[1])] += 1
    side = (1.0 - slip) / 2.0
    expected = 6000 * np.array([0.0, side, slip, side])
    assert counts[0] == 0
    assert float((((counts - expected)[1:]) ** 2 / expected[1:]).sum()) < 13.8  # chi-square, 2 degrees, p = 0.001


def test_ten_thousand_seeds_give_solvable_lakes_within_the_budget() -> None:
    for seed in range(10_000):
        drawn = draw_lake(seed, 4, 0.9, True, 3, 6)
        steps = distances(drawn)[drawn.start]
        assert steps is not None
        assert 3 <= steps <= 6


def test_the_same_seed_gives_the_same_lake() -> None:
    assert [draw_lake(s, 6, 0.8, True, 1, 10) for s in range(50)] == [
        draw_lake(s, 6, 0.8, True, 1, 10) for s in range(50)
    ]


def test_no_layout_is_in_two_splits() -> None:
    env = lake()
    layouts: dict[Split, set[str]] = {split: set() for split in SPLITS}
    for split in SPLITS:
        for index in range(400):
            started(env, index, split)
            layouts[split].add(env.lake.key)
    assert not layouts["train"] & layouts["validation"]
    assert not layouts["train"] & layouts["test"]
    assert not layouts["validation"] & layouts["test"]


def test_the_potential_is_one_on_the_goal_minus_one_in_holes_and_falls_with_distance() -> None:
    env = lake(frozen=0.8)
    for index in range(100):
        started(env, index)
        here = env.lake
        values, steps = potentials(here, 1.0), distances(here)
        for cell, value in enumerate(values):
            if cell in here.holes:
                assert value == -1.0
            else:
                way = steps[cell]
                assert value == pytest.approx(0.0 if way is None else 0.9**way)


def test_the_potential_knows_the_risk_of_slipping() -> None:
    env = lake(slip=0.8)
    found = 0
    for index in range(300):
        started(env, index)
        here = env.lake
        safe, risky = potentials(here, 1.0), potentials(here, 0.8)
        assert all(r <= s + 1e-9 for s, r in zip(safe, risky, strict=True))
        near = [c for c in range(16) if set(moves(4)[c]) & here.holes and c not in here.holes and c != here.goal]
        found += any(risky[c] < 0.8 * safe[c] for c in near if safe[c] > 0)
    assert found > 20


@given(
    st.integers(0, 50),
    st.lists(st.sampled_from(ACTIONS), max_size=12),
    st.lists(st.sampled_from(ACTIONS), min_size=1, max_size=6),
    st.sampled_from([1.0, 0.5]),
)
@settings(max_examples=150, deadline=None)
def test_a_restored_snapshot_has_the_same_future(index: int, before: list[str], after: list[str], slip: float) -> None:
    env = lake(slip=slip, max_turns=10)
    started(env, index)
    for action in before:
        env.step(action)
    snapshot, key = env.snapshot(), env.state_hash()
    first = [env.step(action) for action in after]
    env.restore(snapshot)
    assert env.state_hash() == key
    assert [env.step(action) for action in after] == first


@pytest.mark.parametrize("slip", [1.0, 0.8, 1 / 3])
def test_walks_earn_and_end_as_in_gymnasium(slip: float) -> None:
    rng = np.random.default_rng(3)
    env = lake(slip=slip, frozen=0.8, max_turns=20)
    for index in range(70):
        started(env, index)
        table = as_gymnasium(env, slip).P
        cell = env.lake.start
        for _ in range(40):
            action = int(rng.integers(4))
            _, reward, terminated, truncated, info = env.step(ACTIONS[action])
            reached = env.snapshot()[1]
            possible = {(s, r, d) for chance, s, r, d in table[cell][action] if chance > 0}
            assert (reached, reward, terminated) in possible
            assert info["success"] == (reward == 1.0)
            cell = reached
            if terminated or truncated:
                break


def test_the_state_hash_knows_layout_place_and_actions_left() -> None:
    env = lake(max_turns=5, frozen=0.8, size=6)
    task = started(env)
    start = env.state_hash()
    env.step("Up")
    env.step("Down")
    assert env.state_hash() != start  # two actions fewer to go, wherever that led
    env.reset(task)
    env.seed_dynamics(99)
    assert env.state_hash() == start
    seen = set()
    for index in range(50):
        started(env, index)
        seen.add(env.state_hash())
    assert len(seen) == 50


def test_the_last_action_of_the_budget_truncates() -> None:
    env = lake(max_actions=3, frozen=1.0, min_distance=6, size=8)
    started(env)
    ends = [env.step(action)[2:4] for action in ("Up", "Down", "Up")]
    assert ends == [(False, False), (False, False), (False, True)]


def test_a_reseeded_fork_slips_differently() -> None:
    env = lake(slip=0.5, size=8, max_turns=20, frozen=1.0)
    started(env)
    snapshot = env.snapshot()
    ends = set()
    for seed in range(20):
        env.restore(snapshot)
        env.seed_dynamics(seed)
        for _ in range(6):
            env.step("Right")
        ends.add(env.state_hash())
    assert len(ends) > 3


@given(st.text(max_size=40) | st.sampled_from(["", "up\x00", "Right Right", "<b>Up</b>", "U" * 1_000_000]))
@settings(max_examples=100, deadline=None)
def test_what_is_no_action_changes_nothing(text: str) -> None:
    env = lake()
    started(env)
    if env.parse_action(text) is not None:
        assert text.strip().lower() in {action.lower() for action in ACTIONS}
        return
    before = env.snapshot()
    _, reward, terminated, truncated, info = env.step(text)
    assert (reward, terminated, truncated, info["invalid"], info["success"]) == (0.0, False, False, True, False)
    assert env.snapshot() == before


@pytest.mark.parametrize("text", ["up", " UP ", "Up"])
def test_actions_are_read_whatever_their_case(text: str) -> None:
    assert lake().parse_action(text) == "Up"


def test_success_and_failure_end_the_episode_and_nothing_happens_after() -> None:
    env = lake(frozen=0.7)
    seen = set()
    rng = np.random.default_rng(0)
    for index in range(200):
        started(env, index)
        for _ in range(6):
            _, reward, terminated, truncated, info = env.step(ACTIONS[rng.integers(4)])
            if terminated or truncated:
                seen.add((terminated, info["success"], reward))
                assert env.step("Up")[4]["invalid"]
                assert env.legal_actions() == ()
                break
    assert seen == {(True, True, 1.0), (True, False, 0.0), (False, False, 0.0)}


def test_observations_show_player_goal_and_holes() -> None:
    env = lake(observation="grid+coords", frozen=0.7)
    task = started(env)
    observation, _ = env.reset(task)
    here = env.lake
    grid, coords = observation.rsplit("\n", 1)
    assert grid.splitlines()[here.start // 4][here.start % 4] == "P"
    assert grid.splitlines()[here.goal // 4][here.goal % 4] == "G"
    assert grid.count("O") == len(here.holes) == coords.split("O ")[1].count(",")
    assert coords.startswith(f"P {here.start // 4},{here.start % 4} G {here.goal // 4},{here.goal % 4}")
