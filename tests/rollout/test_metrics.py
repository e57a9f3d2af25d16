"""Metrics of a step, recomputed by hand on small trees."""

from __future__ import annotations

import pytest

from tests.components.search.golden import BROKEN, planned
from tests.scripted import Bench, answer
from tsrflow.components.search.beam import Beam
from tsrflow.components.search.config import BeamConfig, NaiveConfig
from tsrflow.components.search.naive import Naive
from tsrflow.rollout.groups import build_group
from tsrflow.rollout.live import Search
from tsrflow.rollout.metrics import finish, merge, tally

TABLE = {
    **{"a": (0.0, False, False, 0.2), "b": (0.0, False, False, 0.2), "c": (0.0, False, False, 0.1)},
    **{"aa": (1.0, True, True, 0.0), "ba": (1.0, True, True, 0.0)},
}


def measure(searches: list[Search]) -> dict[str, float]:
    group, dropped = build_group(searches[0].task, searches)
    return finish(tally([group], searches, dropped))


def test_metrics_of_one_beam_and_one_naive_rollout() -> None:
    bench = Bench(TABLE, planned({"": "abc", "0": "aa-", "1": "aa-"}), max_turns=2)
    searched = bench.search(Beam(BeamConfig(width=1, candidates=3)))
    bench_naive = Bench(TABLE, planned({"": "c", "0": "-"}), max_turns=2)
    naive = bench_naive.search(Naive(NaiveConfig()), searched=False)
    metrics = measure([searched, naive])
    turn, broken = len(answer("a")) + 1, len(BROKEN) + 1
    expected = {
        "rollout/env_errors": 0.0,
        "rollout/dropped": 0.0,
        "train/return": (1.0 - 0.1) / 2,
        "train/success": 0.5,
        "train/group_std": (1.0 + 0.1) / 2,
        "rollout/turns": 2.0,
        "rollout/response_tokens": (2 * turn + turn + broken) / 2,
        "rollout/invalid_rate": 1 / 4,
        "rollout/cut_turns": 0.0,
        "rollout/truncated": 0.5,
        "search/tie_rate": 0.5,  # a and b tie in turn 1; in turn 2 only the broken answer and a duplicate are dropped
        "search/selected_minus_fresh": 1.1,
        "train/success_searched": 1.0,
        "train/success_naive": 0.0,
        "train/return_searched": 1.0,
        "train/return_naive": -0.1,
        "search/unique_prefixes": 5 / 6,
    }
    assert {name: metrics[name] for name in expected} == pytest.approx(expected)
    assert set(metrics) - set(expected) == {"search/prefix_reuse"}
    requested = 3 * len(searched.tree.nodes[0].token_ids) + 3 * len(
        searched.tree.token_ids(searched.kept[0].parent or 0)
    )
    read = len(searched.tree.token_ids(searched.kept[0].parent or 0))
    assert metrics["search/prefix_reuse"] == pytest.approx(1 - read / requested)


def test_what_has_nothing_to_describe_is_left_out() -> None:
    naive = Bench({}, planned({"": "a"}), max_turns=1).search(Naive(NaiveConfig()), searched=False)
    metrics = measure([naive])
    assert not [name for name in metrics if name.startswith("search/")]
    assert "train/success_searched" not in metrics
    beam = Bench({}, planned({"": "a"}), max_turns=1).search(Beam(BeamConfig(width=1, candidates=1)))
    metrics = measure([beam])
    assert "search/tie_rate" not in metrics
    assert "search/selected_minus_fresh" not in metrics
    assert "train/success_naive" not in metrics


def test_turns_cut_by_their_token_limit_are_counted() -> None:
    bench = Bench({}, lambda prompt, seed: answer("a"), max_turns=2, turn_tokens=10)
    metrics = measure([bench.search(Naive(NaiveConfig()), searched=False)])
    assert (metrics["rollout/cut_turns"], metrics["rollout/invalid_rate"]) == (1.0, 1.0)


def test_shares_of_a_step_merge_into_the_metrics_of_the_whole() -> None:
    bench = Bench(TABLE, planned({"": "abc", "0": "aa-", "1": "aa-"}), max_turns=2)
    one = bench.search(Beam(BeamConfig(width=1, candidates=3)), index=0)
    two = Bench(TABLE, planned({"": "c", "0": "-"}), max_turns=2).search(Naive(NaiveConfig()), searched=False, index=1)
    groups = [build_group(search.task, [search])[0] for search in (one, two)]
    whole = tally(groups, [one, two], 0)
    parts = [tally([group], [search], 0) for group, search in zip(groups, (one, two), strict=True)]
    assert merge(parts) == whole
    assert finish(whole)["search/selected_minus_fresh"] == pytest.approx(1.1)
