"""Golden trees of ``search=lookahead``."""

from __future__ import annotations

import pytest

from tests.components.search.golden import lines, outline, path_of, planned, selections
from tests.scripted import Bench, histories
from tsrflow.components.search.config import LookaheadConfig
from tsrflow.components.search.lookahead import Lookahead


def value(potential: float) -> tuple[float, bool, bool, float]:
    return 0.0, False, False, potential


def test_a_candidate_is_worth_what_its_subtree_reaches_and_planning_starts_anew() -> None:
    table = {"a": value(0.6), "b": value(0.1), "aa": value(0.2), "bb": (1.0, True, True, 0.0), "ba": value(0.3)}
    bench = Bench(table, planned({"": "ab", "0": "a", "1": "bab"}), max_turns=2)
    search = bench.search(Lookahead(LookaheadConfig(candidates=2, depth=2)))
    assert outline(search) == lines("""
        0 a 0.6
        1 b 0.1
        00 a 0.2 max_turns
        10 b 1 terminated+success
        11 a 0.3 max_turns
        12 b 1 terminated+success *
    """)
    assert selections(search) == [(["0", "1"], ["1"], False), (["11", "12"], ["12"], False)]


@pytest.mark.parametrize(
    ("aggregate", "stochastic", "committed"),
    [("max", True, "0"), ("mean", False, "1"), ("auto", False, "0"), ("auto", True, "1")],
)
def test_max_prefers_the_luckiest_leaf_and_mean_the_steadiest(aggregate: str, stochastic: bool, committed: str) -> None:
    table = {"aa": value(0.9), "ab": value(-0.9), "ba": value(0.3), "bb": value(0.3)}
    config = LookaheadConfig(candidates=2, depth=2, branch=2, aggregate=aggregate)  # type: ignore[arg-type]
    bench = Bench(table, planned({"": "ab", "0": "ab", "1": "ab"}), max_turns=2)
    search = bench.search(Lookahead(config, stochastic))
    assert path_of(search, search.tree.path(search.kept[0].id)[1]) == committed


def test_an_episode_that_ends_inside_the_subtree_is_a_leaf() -> None:
    table = {"a": (0.5, True, True, 0.0), "b": value(0.1), "ba": (0.2, True, False, 0.0), "bb": value(0.3)}
    bench = Bench(table, planned({"": "ab", "1": "ab", "11": "aa"}), max_turns=4)
    search = bench.search(Lookahead(LookaheadConfig(candidates=2, depth=3, branch=2)))
    assert outline(search) == lines("""
        0 a 0.5 terminated+success *
        1 b 0.1
        10 a 0.2 terminated
        11 b 0.3
        110 a 0
        111 a 0
    """)


def test_where_all_candidates_end_at_once_nothing_is_expanded_below_them() -> None:
    table = {"a": (0.5, True, False, 0.0), "b": (0.7, True, False, 0.0)}
    bench = Bench(table, planned({"": "ab"}))
    assert histories(bench.search(Lookahead(LookaheadConfig(candidates=2, depth=3)))) == ["b"]
    assert len(bench.generator.requests) == 1


def test_the_mean_is_taken_at_every_node_of_the_subtree() -> None:
    """A leaf that ended early weighs as much as its sibling's whole subtree: .4 beats .3, while the mean over leaves,
    .8/3, would not."""
    table = {"aa": (0.8, True, True, 0.0), "ba": (0.3, True, False, 0.0), "bb": (0.3, True, False, 0.0)}
    plan = planned({"": "ab", "0": "ab", "01": "cd", "1": "ab"})
    config = LookaheadConfig(candidates=2, depth=3, branch=2, aggregate="mean")
    search = Bench(table, plan).search(Lookahead(config))
    assert path_of(search, search.tree.path(search.kept[0].id)[1]) == "0"


def test_an_invalid_candidate_is_not_committed_whatever_its_subtree_promises() -> None:
    table = {"a": value(-0.5), "b": value(1.0)}
    plan = planned({"": "-a", "0": "b", "1": "c"})
    search = Bench(table, plan, max_turns=2).search(Lookahead(LookaheadConfig(candidates=2, depth=2)))
    assert path_of(search, search.tree.path(search.kept[0].id)[1]) == "1"


def test_depth_counts_the_candidate_itself_and_stops_at_the_turn_limit() -> None:
    bench = Bench({}, max_turns=2)
    bench.search(Lookahead(LookaheadConfig(candidates=3, depth=4, branch=2)))
    assert [[len(request.seeds) for request in batch] for batch in bench.generator.requests] == [[3], [2, 2, 2], [3]]


def test_equal_values_are_a_recorded_tie() -> None:
    search = Bench({}, planned({"": "ab"}), max_turns=1).search(Lookahead(LookaheadConfig(candidates=2, depth=1)))
    assert [tied for _, _, tied in selections(search)] == [True]
