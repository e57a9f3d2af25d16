"""``env=sokoban``: rules and rewards, observations, exact forks, splits, and nothing that upsets it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.components.envs.sokoban import brute
from tsrflow.components.envs.sokoban import Sokoban, SokobanConfig
from tsrflow.components.envs.sokoban.board import ACTIONS
from tsrflow.components.envs.sokoban.level import parse
from tsrflow.types import Split, Task

SPLITS: tuple[Split, ...] = ("train", "validation", "test")


def sokoban(**changes: object) -> Sokoban:
    return Sokoban(SokobanConfig.model_validate(changes))


def started(env: Sokoban, index: int = 0, split: Split = "train") -> Task:
    task = env.task(split, index)
    env.reset(task)
    return task


def at(*rows: str, **changes: object) -> Sokoban:
    """An environment at the start of a level drawn by hand."""
    env = sokoban(**{"min_moves": 1, **changes})
    env._start(parse(rows))
    return env


def test_rewards_of_pushing_on_off_and_solving() -> None:
    env = at("#######", "#@$.  #", "#.$   #", "#######", max_actions=30)
    trace = []
    for action in ("Right", "Right", "Right", "Up", "Left", "Left", "Left", "Down"):
        _, reward, terminated, truncated, info = env.step(action)
        trace.append((round(reward, 9), terminated, truncated, info["success"], info["effective"]))
    assert trace == [
        (0.9, False, False, False, True),  # onto the target
        (-1.1, False, False, False, True),  # off it again
        (-0.1, False, False, False, True),
        (-0.1, False, False, False, False),  # a wall
        (-0.1, False, False, False, True),
        (-0.1, False, False, False, True),
        (-0.1, False, False, False, True),
        (-0.1, False, False, False, True),
    ]
    env = at("######", "#@$.##", "######")
    assert env.step("Right")[1:4] == (10.9, True, False)
    assert env.step("Left")[4] == {"success": False, "invalid": True}
    assert env.legal_actions() == ()
    assert env.potential() == 1.0


def test_pushing_from_target_to_target_pays_nothing() -> None:
    env = at("#######", "#@*.  #", "#  $  #", "#######", max_actions=9)
    assert round(env.step("Right")[1], 9) == -0.1


@pytest.mark.parametrize("row", ["#@$$..#", "#@$#..$#"])
def test_boxes_do_not_go_through_boxes_or_walls(row: str) -> None:
    env = at("#" * len(row), row, "#" * len(row), max_actions=3)
    before = env.boxes
    _, reward, _, _, info = env.step("Right")
    assert (env.boxes, reward, info["effective"]) == (before, -0.1, False)


@given(st.integers(0, 40), st.lists(st.sampled_from(ACTIONS), max_size=40), st.sampled_from([(6, 1), (7, 2), (8, 3)]))
@settings(max_examples=150, deadline=None)
def test_walks_equal_a_second_implementation(index: int, actions: list[str], room: tuple[int, int]) -> None:
    env = sokoban(size=room[0], boxes=room[1], max_actions=60, observation="grid+coords", min_moves=1)
    started(env, index)
    level, state = env.level, brute.start(env.level)
    targets = brute.cells(level.text(), ".*+")
    for action in actions:
        before = len(state[1] & targets)
        observation, reward, terminated, truncated, info = env.step(action)
        state = brute.play(level, state, action)
        grid, coords = observation.rsplit("\n", 1)
        assert brute.cells(grid, "PS") == {state[0]}
        assert brute.cells(grid, "X√") == state[1]
        assert brute.cells(grid, "O√S") == targets
        assert coords.startswith(f"P {state[0][0]},{state[0][1]} X ")
        on = len(state[1] & targets)
        solved = brute.solved(level, state)
        assert reward == pytest.approx(-0.1 + on - before + 10 * solved)
        assert (terminated, truncated, info["success"]) == (solved, False, solved)
        if terminated:
            break


def test_coordinates_say_all_that_the_grid_says() -> None:
    env = sokoban(observation="grid+coords", size=7, boxes=2)
    for index in range(50):
        observation, _ = env.reset(env.task("train", index))
        grid, coords = observation.rsplit("\n", 1)
        parts: dict[str, set[tuple[int, int]]] = {}
        key = ""
        for word in coords.split():
            if word in "PXO#":
                key, parts[word] = word, set()
            elif word != "none":
                row, column = word.split(",")
                parts[key].add((int(row), int(column)))
        assert parts["P"] == brute.cells(grid, "PS")
        assert parts["X"] == brute.cells(grid, "X√")
        assert parts["O"] == brute.cells(grid, "O√S")
        assert parts["#"] == {(r, c) for r, c in brute.cells(grid, "#") if 0 < r < 6 and 0 < c < 6}


def test_observations_by_config() -> None:
    task = sokoban().task("train", 0)
    coords, grid, both = (sokoban(observation=o).reset(task)[0] for o in ("coords", "grid", "grid+coords"))
    assert both == f"{grid}\n{coords}"
    assert set(grid) <= set("#_OX√PS\n")
    assert len(coords) < 90
    env = sokoban()
    env.reset(task)
    assert env.render_ansi() == grid


def test_greedy_play_by_potential_solves_every_level_with_one_box_in_time() -> None:
    env = sokoban()
    for index in range(150):
        started(env, index, "validation")
        best, done = brute.shortest(env.level), False
        steps = 0
        while not done:
            here = env.snapshot()
            values = []
            for action in ACTIONS:
                env.restore(here)
                _, reward, *_ = env.step(action)
                values.append((reward + (env.potential() or 0.0), action))
            env.restore(here)
            _, _, terminated, truncated, info = env.step(max(values)[1])
            steps += 1
            done = terminated or truncated
        assert info["success"]
        assert steps == best


def test_a_lost_state_has_potential_minus_one_and_others_more() -> None:
    env = at("######", "#    #", "#@$ .#", "#    #", "######", max_turns=5)
    alive = env.potential()
    assert alive is not None and alive > 0.5
    for action in ("Down", "Right", "Up"):
        env.step(action)
    assert env.potential() == -1.0


@given(
    st.integers(0, 50),
    st.lists(st.sampled_from(ACTIONS), max_size=12),
    st.lists(st.sampled_from(ACTIONS), min_size=1, max_size=6),
)
@settings(max_examples=100, deadline=None)
def test_a_restored_snapshot_has_the_same_future(index: int, before: list[str], after: list[str]) -> None:
    env = sokoban(max_turns=8, boxes=2)
    started(env, index)
    for action in before:
        env.step(action)
    snapshot, key, value = env.snapshot(), env.state_hash(), env.potential()
    first = [env.step(action) for action in after]
    started(env, index + 1)
    env.restore(snapshot)
    assert (env.state_hash(), env.potential()) == (key, value)
    env.seed_dynamics(99)
    assert [env.step(action) for action in after] == first


@given(st.text(max_size=40) | st.sampled_from(["", "up\x00", "Right Right", "<b>Up</b>", "push up", "U" * 1_000_000]))
@settings(max_examples=100, deadline=None)
def test_what_is_no_action_changes_nothing(text: str) -> None:
    env = sokoban()
    started(env)
    if env.parse_action(text) is not None:
        assert text.strip().lower() in {action.lower() for action in ACTIONS}
        return
    before = env.snapshot()
    _, reward, terminated, truncated, info = env.step(text)
    assert (reward, terminated, truncated, info) == (0.0, False, False, {"success": False, "invalid": True})
    assert env.snapshot() == before


@pytest.mark.parametrize("text", ["up", " UP ", "Up"])
def test_actions_are_read_whatever_their_case(text: str) -> None:
    assert sokoban().parse_action(text) == "Up"


def test_the_last_action_truncates_and_is_no_success() -> None:
    env = at("#######", "#@ $ .#", "#######", max_actions=2)
    assert env.step("Up")[2:4] == (False, False)
    _, _, terminated, truncated, info = env.step("Up")
    assert (terminated, truncated, info["success"]) == (False, True, False)
    assert env.step("Right")[4]["invalid"]


def test_solving_with_the_last_action_is_a_success() -> None:
    env = at("#####", "#@$.#", "#####", max_actions=1)
    assert env.step("Right")[2:4] == (True, False)


def test_the_hash_tells_states_and_actions_left_apart() -> None:
    env = sokoban(max_actions=10)
    task = started(env)
    start = env.state_hash()
    env.step("Up")
    env.step("Down")
    assert env.state_hash() != start
    env.reset(task)
    assert env.state_hash() == start
    starts = set()
    for index in range(60):
        started(env, index)
        starts.add(env.state_hash().rsplit(":", 1)[0])
        assert brute.cells(env.state_hash().rsplit(":", 1)[0], "PS") == {brute.start(env.level)[0]}
    assert len(starts) > 50


def test_no_layout_is_in_two_splits_and_tasks_are_pure() -> None:
    env = sokoban()
    layouts: dict[Split, set[str]] = {split: set() for split in SPLITS}
    for split in SPLITS:
        for index in range(400):
            task = started(env, index, split)
            assert env.task(split, index) == task
            layouts[split].add(env.level.text())
    assert not layouts["train"] & layouts["validation"]
    assert not layouts["train"] & layouts["test"]
    assert not layouts["validation"] & layouts["test"]
    with pytest.raises(IndexError):
        env.task("train", -1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"size": 4}, "greater than or equal to 5"),
        ({"boxes": 5}, "boxes=5 do not fit into size=6; at most 4 do"),
        ({"min_moves": 7}, "min_moves=7 is more than the 6 that max_moves allows"),
        ({"observation": "pixels"}, "observation"),
        ({"depth": 3}, "Extra inputs"),
    ],
)
def test_configs_that_cannot_be_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        SokobanConfig.model_validate(changes)


def test_budgets_by_config() -> None:
    assert (SokobanConfig().action_budget, SokobanConfig(max_actions=4).action_budget) == (6, 4)
    assert (SokobanConfig().longest, SokobanConfig(max_moves=7).longest) == (6, 7)
    assert SokobanConfig().deterministic
    assert SokobanConfig().fork_capability == "snapshot"


@pytest.mark.parametrize("observation", ["coords", "grid", "grid+coords"])
def test_instructions_explain_what_is_shown(observation: str) -> None:
    text = sokoban(observation=observation).instructions(False)
    assert all(action in text for action in ACTIONS)
    assert ("√" in text) == ("grid" in observation)
    assert ("row,column" in text) == ("coords" in observation)
    assert len(sokoban().instructions(True)) < 40
