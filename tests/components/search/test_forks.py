"""Random dynamics: what a candidate is scored in, and what the kept one lives on in (commit, honest, clairvoyant)."""

from __future__ import annotations

from statistics import fmean

import pytest

from tests.components.search.golden import planned
from tests.scripted import Bench
from tsrflow import streams
from tsrflow.components.search.beam import Beam
from tsrflow.components.search.config import BeamConfig
from tsrflow.rollout.live import Search
from tsrflow.testing.scripted import TableEnv
from tsrflow.types import Node

NOISE = 0.5


def reward_in(seed: int, start: str = "", actions: str = "a") -> float:
    """Reward of one turn played by hand in the world that ``seed`` gives."""
    env = TableEnv({}, noise=NOISE)
    env.restore((start, 0))
    env.seed_dynamics(seed)
    return sum(env.step(action)[1] for action in actions)


def turn(search: Search, path: str) -> Node:
    node = search.tree.nodes[0]
    for number in path:
        node = search.tree.nodes[search.tree.children[node.id][int(number)]]
    return node


def test_commit_scores_a_candidate_in_the_world_it_keeps() -> None:
    bench = Bench({}, planned({"": "ab", "0": "ab", "1": "ab"}), max_turns=2, noise=NOISE)
    search = bench.search(Beam(BeamConfig(width=2, candidates=2)), keep=2)
    for path in ("0", "1", "00", "11"):
        node = turn(search, path)
        assert node.reward == reward_in(streams.fold(node.stream, "dynamics"))
        assert node.score == pytest.approx(sum(turn(search, path[: i + 1]).reward for i in range(len(path))))
    assert len({node.reward for node in search.tree.nodes[1:]}) == 6
    assert bench.engine.ledger.total.env_steps == 6


def test_commit_carries_the_world_of_the_kept_prefix_on() -> None:
    """A turn of two actions draws twice from the stream that was started for it."""
    bench = Bench({}, lambda prompt, seed: "<answer>a || b</answer>", max_turns=1, noise=NOISE)
    search = bench.search(Beam(BeamConfig(width=1, candidates=1)))
    node = search.kept[0]
    assert node.reward == reward_in(streams.fold(node.stream, "dynamics"), actions="ab")


def test_honest_scores_by_k_draws_and_executes_a_fresh_one() -> None:
    draws = 4
    bench = Bench({}, planned({"": "ab", "0": "ab", "1": "ab"}), max_turns=2, noise=NOISE, scoring_draws=draws)
    search = bench.search(Beam(BeamConfig(width=2, candidates=2)), keep=2)
    for path in ("0", "1"):
        node = turn(search, path)
        judged = [reward_in(streams.fold(node.stream, "draw", i)) for i in range(draws)]
        assert node.score == pytest.approx(fmean(judged))
        assert node.discounted == pytest.approx(fmean(judged))
        assert node.reward == reward_in(streams.fold(node.stream, "dynamics"))
        assert node.reward not in judged
        below = turn(search, path + "0")
        expected = fmean(reward_in(streams.fold(below.stream, "draw", i)) for i in range(draws))
        assert below.score == pytest.approx(node.discounted + expected)
        assert below.cumulative == pytest.approx(node.reward + below.reward)
    assert bench.engine.ledger.total.env_steps == 6 * (draws + 1)


def test_honest_rewards_are_unbiased_by_selection_while_commit_picks_luck() -> None:
    """All actions are worth 0 on average; only commit makes the chosen turn look better than that."""

    def mean_reward(draws: int) -> float:
        bench = Bench({}, max_turns=1, noise=NOISE, scoring_draws=draws)
        searches = [bench.open(Beam(BeamConfig(width=1, candidates=4)), stream=stream) for stream in range(400)]
        bench.engine.run(searches)
        return fmean(search.kept[0].reward for search in searches)

    standard_error = NOISE / 3**0.5 / 400**0.5
    assert abs(mean_reward(2)) < 4 * standard_error
    assert mean_reward(0) > 0.15


def test_clairvoyant_siblings_share_the_parents_stream() -> None:
    bench = Bench({}, planned({"": "abcd", "0": "abcd"}), max_turns=2, noise=NOISE, clairvoyant=True)
    search = bench.search(Beam(BeamConfig(width=4, candidates=4)))
    first = search.tree.nodes[1:5]
    assert len({node.reward for node in first}) == 1
    env = TableEnv({}, noise=NOISE)
    env.seed_dynamics(streams.fold(search.tree.nodes[0].stream, "dynamics"))
    assert first[0].reward == env.step("a")[1]
    second = env.step("a")[1]  # the stream runs on where the parent's turn left it
    assert {node.reward for node in search.tree.nodes[5:]} == {second}


def test_naive_rollouts_are_never_scored_by_extra_draws() -> None:
    bench = Bench({}, planned({"": "a"}), max_turns=1, noise=NOISE, scoring_draws=4)
    search = bench.search(Beam(BeamConfig(width=1, candidates=1)), searched=False)
    assert bench.engine.ledger.total.env_steps == 1
    assert search.kept[0].score == search.kept[0].reward


def test_an_honest_draw_that_ends_the_episode_does_not_end_the_executed_turn() -> None:
    class Slippery(TableEnv):
        """Falls into a hole (terminated) with probability one half."""

        def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, object]]:
            observation, _, _, truncated, info = super().step(action)
            fell = streams.fold(self._dynamics, "slip") % 2 == 0
            return observation, -1.0 if fell else 0.0, fell, truncated, info

    lives = []
    for stream in range(20):
        bench = Bench({}, planned({"": "a"}, stream=stream), max_turns=2, noise=NOISE, scoring_draws=4, env=Slippery)
        node = bench.search(Beam(BeamConfig(width=1, candidates=1)), stream=stream).tree.nodes[1]
        env = Slippery({})
        env.seed_dynamics(streams.fold(node.stream, "dynamics"))
        assert node.done is env.step("a")[2]
        assert node.discounted in (0.0, -0.25, -0.5, -0.75, -1.0)
        lives.append((node.done, node.discounted))
    assert any(not done and discounted < 0 for done, discounted in lives)
