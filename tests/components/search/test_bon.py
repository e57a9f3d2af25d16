"""Golden trees of ``search=bon`` and ``search=naive``."""

from __future__ import annotations

import pytest

from tests.components.search.golden import lines, outline, planned, selections
from tests.scripted import Bench, histories
from tsrflow.components.search.bon import BestOfN
from tsrflow.components.search.config import BestOfNConfig, NaiveConfig
from tsrflow.components.search.naive import Naive

TABLE = {
    **{"a": (0.9, False, False, 0.0), "b": (0.0, False, False, 0.5), "c": (0.2, True, True, 0.0)},
    **{"aa": (-0.8, False, False, 0.0), "bb": (0.6, True, True, 0.0)},
}
PLAN = {"": "abc", "0": "a", "1": "b"}


def test_naive_plays_one_linear_rollout() -> None:
    bench = Bench(TABLE, planned(PLAN), max_turns=2)
    search = bench.search(Naive(NaiveConfig()), searched=False)
    assert outline(search) == lines("""
        0 a 0.9
        00 a 0.1 max_turns *
    """)
    assert selections(search) == []
    assert bench.engine.ledger.total.llm_calls == 2


def test_best_of_n_selects_only_at_the_end() -> None:
    search = Bench(TABLE, planned(PLAN), max_turns=2).search(BestOfN(BestOfNConfig(n=3)))
    assert outline(search) == lines("""
        0 a 0.9
        1 b 0.5
        2 c 0.2 terminated+success
        00 a 0.1 max_turns
        10 b 0.6 terminated+success *
    """)
    assert selections(search) == [(["2", "00", "10"], ["10"], False)]


def test_best_of_n_keeps_several_best_first() -> None:
    search = Bench(TABLE, planned(PLAN), max_turns=2).search(BestOfN(BestOfNConfig(n=3)), keep=2)
    assert histories(search) == ["b|b", "c"]


def test_one_survivor_is_continued_once_per_turn() -> None:
    plan = planned({"": "aab", "2": "b", "20": "c"})
    table = {"a": (0.0, True, False, 0.0)}
    search = Bench(table, plan).search(BestOfN(BestOfNConfig(n=3)))
    assert [len(search.tree.children[node.id]) for node in search.tree.nodes] == [3, 0, 0, 1, 1, 0]


def test_group_scope_rolls_out_n_times_the_group_and_keeps_the_best() -> None:
    strategy = BestOfN(BestOfNConfig(n=2, scope="group"))
    assert strategy.keep_of(searched=3, keep=1) == 3
    table = {action: (reward, True, False, 0.0) for action, reward in zip("abcd", (0.1, 0.2, 0.3, 0.4), strict=True)}
    search = Bench(table, planned({"": "abcdab"})).search(strategy, keep=3)
    assert histories(search)[:2] == ["d", "c"]
    assert len(search.kept) == 3
    assert len(search.tree.nodes) == 1 + 6


def test_trajectory_scope_keeps_what_the_rollout_asks_for() -> None:
    assert BestOfN(BestOfNConfig(n=4)).keep_of(searched=16, keep=2) == 2


def test_rollouts_share_env_steps_only_where_dynamics_are_deterministic() -> None:
    def steps_and_rewards(noise: float) -> tuple[int, int]:
        bench = Bench({}, planned({"": "aaa"}), max_turns=1, noise=noise)
        search = bench.search(BestOfN(BestOfNConfig(n=3)))
        return bench.engine.ledger.total.env_steps, len({node.reward for node in search.tree.nodes[1:]})

    assert steps_and_rewards(0.0) == (1, 1)
    assert steps_and_rewards(0.5) == (3, 3)


@pytest.mark.parametrize(
    ("config", "forks"),
    [
        (BestOfNConfig(n=1), False),
        (BestOfNConfig(n=2), True),
        (BestOfNConfig(n=1, scope="group"), True),
    ],
)
def test_best_of_n_needs_a_fork_wherever_it_continues_the_root_twice(config: BestOfNConfig, forks: bool) -> None:
    assert config.needs_fork is forks


def test_all_rollouts_of_a_search_share_one_prefill() -> None:
    bench = Bench(TABLE, planned(PLAN), max_turns=2)
    bench.search(BestOfN(BestOfNConfig(n=3)))
    assert [len(request.seeds) for request in bench.generator.requests[0]] == [3]
