"""The environment's contract: forks, seeds, invalid actions, budgets, observations, potential."""

from __future__ import annotations

import pickle
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.components.envs.webshop import shop
from tests.components.envs.webshop.shop import play
from tsrflow.components.envs.webshop.config import WebShopConfig
from tsrflow.components.envs.webshop.env import WebShop
from tsrflow.protocols import Env
from tsrflow.testing.check_env import check_env

WAY = ("search[red mug]", "click[b0red]", "click[red]", "click[buy now]")


def random_walk(env: WebShop, rng: np.random.Generator, steps: int) -> list[tuple[Any, ...]]:
    trace = []
    for _ in range(steps):
        legal = env.legal_actions()
        if not legal:
            break
        trace.append((*env.step(str(rng.choice(legal))), env.state_hash(), env.potential()))
    return trace


def test_it_implements_the_protocol(env: WebShop) -> None:
    assert isinstance(env, Env)
    assert env.potential_privileged
    assert env.config.fork_capability == "snapshot" and env.config.deterministic
    assert all(env.instructions(brief) for brief in (True, False))


@pytest.mark.parametrize("observation", ["compact", "text", "rich"])
@pytest.mark.parametrize("quirks", ["mended", "faithful"])
def test_the_contract_of_environments_holds(observation: str, quirks: str, folder: Path) -> None:
    check_env(WebShop(WebShopConfig(observation=observation, quirks=quirks)))  # type: ignore[arg-type]
    check_env(shop.open_shop(folder, observation=observation, quirks=quirks, goals="synthetic"))


def test_buying_what_is_asked_for_is_a_success(env: WebShop) -> None:
    for action in WAY[:-1]:
        _, gained, terminated, truncated, info = env.step(action)
        assert (gained, terminated, truncated, info["success"]) == (0.0, False, False, False)
    _, gained, terminated, truncated, info = env.step(WAY[-1])
    assert (gained, terminated, truncated, info["success"], info["score"]) == (1.0, True, False, True, 1.0)
    assert info["reward_parts"]["r_option"] == 1.0


@pytest.mark.parametrize(("mode", "paid"), [("graded", 2 / 3), ("binary", 0.0)])
def test_the_score_is_told_whatever_is_paid(mode: str, paid: float, folder: Path) -> None:
    env = shop.open_shop(folder, reward=mode)
    shop.start_for(env, "B0RED")
    play(env, *WAY[:2])
    _, gained, _, _, info = env.step("click[buy now]")
    assert gained == pytest.approx(paid)
    assert info["score"] == pytest.approx(2 / 3) and not info["success"]


@pytest.mark.parametrize("observation", ["text", "rich", "compact"])
def test_restored_episodes_have_the_same_future(observation: str, folder: Path) -> None:
    env, other = (shop.open_shop(folder, observation=observation) for _ in range(2))
    for seed in range(20):
        env.start(seed % 3)
        random_walk(env, np.random.default_rng(seed), seed % 5)
        kept, page = env.snapshot(), env.render_ansi()
        future = random_walk(env, np.random.default_rng(seed), 8)
        env.restore(kept)
        assert env.render_ansi() == page
        other.restore(pickle.loads(pickle.dumps(kept)))
        assert random_walk(env, np.random.default_rng(seed), 8) == future
        assert random_walk(other, np.random.default_rng(seed), 8) == future


def test_the_dynamics_seed_changes_nothing(folder: Path) -> None:
    walks = []
    for seed in (1, 2):
        env = shop.open_shop(folder, quirks="faithful")
        env.start(0)
        env.seed_dynamics(seed)
        walks.append(random_walk(env, np.random.default_rng(0), 10))
    assert walks[0] == walks[1]


def test_equal_states_have_equal_hashes_however_they_were_reached(folder: Path) -> None:
    env = shop.open_shop(folder, max_turns=20)
    hashes = []
    for way in (("click[red]", "click[large]"), ("click[large]", "click[red]"), ("click[red]", "click[small]")):
        shop.start_for(env, "B0RED")
        play(env, "search[red mug]", "click[b0red]", *way)
        hashes.append(env.state_hash())
    assert hashes[0] == hashes[1] != hashes[2]


INVALID = [
    "",
    "nonsense",
    "click[nothing like that]",
    "click[search]",
    "click[b0red",
    "search[]",
    "search[<script>alert(1)</script>]",
    "search[\x00\x1b[31m]",
    "click[\u202ebuy now]",
    "x" * 10**6,
    f"search[{'a' * 10**6}]",
    "click[2]",
]


@pytest.mark.parametrize("action", INVALID)
def test_what_is_no_action_changes_nothing(action: str, env: WebShop) -> None:
    for before in ((), ("search[red mug]",), ("click[b0red]",), ("click[features]",)):
        play(env, *before)
        page, hashed, kept = env.render_ansi(), env.state_hash(), env.snapshot()
        observation, gained, terminated, truncated, info = env.step(action)
        assert (gained, terminated, truncated) == (0.0, False, False)
        assert info["invalid"] and not info["success"]
        assert (env.render_ansi(), env.state_hash(), env.snapshot()) == (page, hashed, kept)
        assert env.step(action)[0] == observation


def test_every_legal_action_does_something(folder: Path) -> None:
    for observation in ("text", "rich", "compact"):
        env = shop.open_shop(folder, observation=observation)
        for seed in range(30):
            env.start(seed % 3)
            rng = np.random.default_rng(seed)
            for _ in range(8):
                legal = env.legal_actions()
                if not legal:
                    break
                kept = env.snapshot()
                for action in legal:
                    assert env.parse_action(action) == action
                    assert not env.step(action)[4].get("invalid"), action
                    env.restore(kept)
                env.step(str(rng.choice(legal)))


def test_episodes_end_when_the_actions_are_spent(folder: Path) -> None:
    env = shop.open_shop(folder, max_turns=3)
    shop.start_for(env, "B0RED")
    env.step("nonsense")
    assert not env.step(WAY[0])[3] and not env.step(WAY[1])[3]
    _, gained, terminated, truncated, info = env.step(WAY[2])
    assert (gained, terminated, truncated, info["success"]) == (0.0, False, True, False)
    assert env.potential() == -1.0
    assert env.legal_actions() == ()
    assert env.step(WAY[3])[4]["invalid"]
    shop.start_for(env, "B0RED")
    assert env.potential() == 0.0 and env.legal_actions()


def test_the_actions_left_are_part_of_the_state(folder: Path) -> None:
    env = shop.open_shop(folder)
    env.start(0)
    hashed = env.state_hash()
    play(env, "search[mug]", "click[back to search]")
    assert env.state_hash() != hashed


def test_the_potential_grows_on_the_way_and_stays_in_bounds(env: WebShop) -> None:
    values = [env.potential() or 0.0]
    for action in WAY:
        env.step(action)
        values.append(env.potential() or 0.0)
    assert values == sorted(values) and values[-1] == 1.0
    assert values[0] == 0.0


def test_the_potential_prefers_the_right_product_and_dislikes_a_wrong_purchase(env: WebShop) -> None:
    def after(*actions: str) -> float:
        shop.start_for(env, "B0RED")
        play(env, *actions)
        value = env.potential()
        assert value is not None and -1 <= value <= 1
        return value

    right, wrong = after("search[mug tea]", "click[b0red]"), after("search[mug tea]", "click[b0tea]")
    listed = after("search[mug tea]")
    assert right > listed > wrong
    assert after("search[xyzzy]") < listed
    assert after("search[mug tea]", "click[b0red]", "click[features]") < right
    assert after("search[mug tea]", "click[b0tea]", "click[buy now]") < 0 < wrong


def test_the_observation_modes_show_the_same_page(folder: Path) -> None:
    seen = {}
    for observation in ("text", "rich", "compact"):
        env = shop.open_shop(folder, observation=observation)
        shop.start_for(env, "B0RED")
        seen[observation] = env.step("search[enamel mug]")[0]
    assert " [SEP] " in seen["text"] and "[button]" in seen["rich"]
    assert seen["compact"] == "page 1, 2 results\n1 $80-91 blue enamel mug\n2 $13 red enamel mug"


def test_compact_pages_are_numbered_starred_and_short(folder: Path) -> None:
    env = shop.open_shop(folder, observation="compact", max_turns=20)
    shop.start_for(env, "B0RED")
    limit = env.world.goal(env.session.goal).price_upper
    assert env.step("nonsense")[0] == f"hand made mug red, under ${limit:.0f}\nsearch page"
    env.step("search[enamel mug]")
    assert env.legal_actions() == ("click[1]", "click[2]", "click[back to search]", "click[next >]")
    assert env.step("click[3]")[4]["invalid"] and env.step("click[0]")[4]["invalid"]
    observation = env.step("click[2]")[0]
    assert observation == "$13 red enamel mug\nfirst point.\ncolor: red, blue | green\nsize: small, large"
    assert env.step("click[large]")[0].endswith("size: small, large*")
    assert env.step("click[description]")[0] == "description: plain and simple."
    play(env, "click[< prev]", "click[< prev]", "click[b0red]")
    assert env.step("click[reviews]")[0] == "reviews: nothing"


def test_actions_can_be_listed_and_pages_cut(folder: Path) -> None:
    env = shop.open_shop(folder, list_actions=True, obs_chars=80)
    shop.start_for(env, "B0RED")
    play(env, *WAY[:2])
    text, actions = env.step("click[red]")[0].split("\nAvailable actions: ")
    assert len(text) == 80 and text.endswith("…")
    assert actions.startswith("click[back to search], click[< prev]") and "click[large]" in actions
    shop.start_for(env, "B0RED")
    assert env.step("nonsense")[0].endswith("Available actions: search[words]")


def test_hints_are_given_where_they_are_asked_for(folder: Path) -> None:
    plain, hinted = (shop.open_shop(folder, hints=hints).instructions(False) for hints in (False, True))
    assert hinted.startswith(plain) and hinted.count("\n- ") >= 5


def test_environments_share_their_world(folder: Path) -> None:
    first, second = shop.open_shop(folder), shop.open_shop(folder, observation="rich", max_turns=3)
    assert first.world is second.world


def test_tasks_name_goals_for_good(folder: Path) -> None:
    first, second = shop.open_shop(folder, goals="synthetic"), shop.open_shop(folder, goals="synthetic", max_turns=2)
    tasks = [first.task("train", index) for index in range(6)]
    assert tasks == [second.task("train", index) for index in range(6)]
    assert len({task.id for task in tasks}) == 6
    for task in tasks:
        assert first.reset(task)[0] == second.reset(task)[0]
    other = shop.open_shop(folder, goals="synthetic", world_seed=1)
    assert other.task("train", 0).seed != tasks[0].seed


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"data": "/nowhere"}, "no such file or folder"),
        ({"observation": "html"}, "observation"),
        ({"page_size": 0}, "page_size"),
        ({"unknown": 1}, "unknown"),
    ],
)
def test_wrong_configs_are_refused(config: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        WebShopConfig(**config)


def test_forks_and_steps_are_fast() -> None:
    env = WebShop(WebShopConfig(observation="text"))
    rng = np.random.default_rng(0)
    forks, steps, began = [], 0, time.perf_counter()
    in_steps = 0.0
    while steps < 1500:
        env.start(int(rng.integers(len(env.world.table))))
        for _ in range(9):
            action = str(rng.choice(env.legal_actions()))
            began = time.perf_counter()
            *_, terminated, truncated, _ = env.step(action)
            in_steps += time.perf_counter() - began
            steps += 1
            began = time.perf_counter()
            env.restore(env.snapshot())
            forks.append(time.perf_counter() - began)
            if terminated or truncated:
                break
    assert statistics.median(forks) < 50e-6
    assert steps / in_steps > 50 * 55, "fifty times the original's 55 steps per second"
