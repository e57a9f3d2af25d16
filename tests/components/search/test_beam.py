"""Golden trees of ``search=beam``: worked out by hand, score = rewards and penalties so far + potential."""

from __future__ import annotations

from collections import Counter

from tests.components.search.golden import lines, outline, path_of, planned, selections
from tests.scripted import Bench, histories
from tsrflow.components.search.beam import Beam
from tsrflow.components.search.config import BeamConfig
from tsrflow.testing.scripted import TableEnv
from tsrflow.types import StopReason


def beam(width: int, candidates: int) -> Beam:
    return Beam(BeamConfig(width=width, candidates=candidates))


def value(potential: float) -> tuple[float, bool, bool, float]:
    """A live state without reward."""
    return 0.0, False, False, potential


def test_each_turn_keeps_the_best_prefixes_of_the_whole_pool() -> None:
    table = {
        **{"a": value(0.2), "b": value(0.5), "c": value(0.3)},
        **{"ba": value(0.6), "bb": (0.4, False, False, 0.1), "ca": (1.0, True, True, 0.0), "cb": value(0.3)},
    }
    bench = Bench(table, planned({"": "abc", "1": "abc", "2": "abc"}), max_turns=2)
    search = bench.search(beam(2, 3))
    assert outline(search) == lines("""
        0 a 0.2
        1 b 0.5
        2 c 0.3
        10 a 0.6 max_turns
        11 b 0.5 max_turns
        12 c 0 max_turns
        20 a 1 terminated+success *
        21 b 0.3 max_turns
        22 c 0 max_turns
    """)
    assert selections(search) == [
        (["0", "1", "2"], ["1", "2"], False),
        (["10", "11", "12", "20", "21", "22"], ["20", "10"], False),
        (["20", "10"], ["20"], False),
    ]


def test_beam_returns_several_leaves_best_first() -> None:
    table = {"a": value(0.2), "b": value(0.5), "c": value(0.3)}
    search = Bench(table, planned({"": "abc"}), max_turns=1).search(beam(3, 3), keep=2)
    assert histories(search) == ["b", "c"]
    assert selections(search) == [(["1", "2", "0"], ["1", "2"], False)]


def test_a_finished_prefix_competes_with_live_ones_to_the_end() -> None:
    table = {
        **{"a": (0.7, True, False, 0.0), "b": value(0.5)},
        **{"ba": value(0.6), "bb": value(0.8), "bba": value(0.1), "bbb": value(0.2)},
    }
    search = Bench(table, planned({"": "ab", "1": "ab", "11": "ab"})).search(beam(2, 2))
    assert outline(search) == lines("""
        0 a 0.7 terminated *
        1 b 0.5
        10 a 0.6
        11 b 0.8
        110 a 0.1 max_turns
        111 b 0.2 max_turns
    """)
    assert selections(search)[-2:] == [(["0", "110", "111"], ["0", "111"], False), (["0", "111"], ["0"], False)]


def test_a_finished_prefix_that_is_overtaken_leaves_the_beam() -> None:
    table = {"a": (0.1, True, True, 0.0), "b": value(0.5), "ba": value(0.6), "bb": value(0.8)}
    search = Bench(table, planned({"": "ab", "1": "ab"}), max_turns=2).search(beam(2, 2), keep=2)
    assert histories(search) == ["b|b", "b|a"]


def test_the_search_ends_when_every_kept_prefix_is_finished() -> None:
    bench = Bench({"a": (1.0, True, True, 0.0), "b": value(0.5)}, planned({"": "ab"}), max_turns=5)
    search = bench.search(beam(1, 2))
    assert histories(search) == ["a"]
    assert len(bench.generator.requests) == 1


def test_ties_are_broken_by_the_search_stream_and_recorded() -> None:
    chosen: Counter[str] = Counter()
    for stream in range(60):
        plan = planned({"": "abcd"}, stream=stream)
        first, again = (Bench({}, plan, max_turns=1).search(beam(1, 4), stream=stream) for _ in range(2))
        assert histories(first) == histories(again)
        assert [tied for _, _, tied in selections(first)] == [True]
        chosen[path_of(first, first.kept[0])] += 1
    assert set(chosen) == set("0123")
    assert max(chosen.values()) < 30


def test_a_tie_among_the_kept_prefixes_is_no_tie() -> None:
    table = {"a": value(0.5), "b": value(0.5), "c": value(0.1)}
    search = Bench(table, planned({"": "abc"}), max_turns=1).search(beam(2, 3), keep=2)
    assert [(sorted(kept), tied) for _, kept, tied in selections(search)] == [(["0", "1"], False)]


def test_candidates_with_the_same_actions_are_one_env_step_and_one_prefix_of_the_beam() -> None:
    bench = Bench({"a": value(0.5), "b": value(0.1)}, planned({"": "aaab"}), max_turns=1)
    search = bench.search(beam(2, 4), keep=2)
    assert histories(search) == ["a", "b"]
    assert bench.engine.ledger.total.env_steps == 2
    assert sum(env.steps for env in bench.envs if isinstance(env, TableEnv)) == 2
    assert bench.engine.ledger.total.llm_calls == 4
    assert len(search.tree.nodes) == 5  # all tokens stay in the tree


def test_dropping_only_duplicates_is_a_decision_without_a_tie() -> None:
    search = Bench({}, planned({"": "aaaa"}), max_turns=1).search(beam(1, 4))
    assert [(len(candidates), tied) for candidates, _, tied in selections(search)] == [(4, False)]


def test_of_duplicates_the_one_without_penalty_stays() -> None:
    for stream in range(8):
        plan = planned({"": "AaA"}, stream=stream)
        search = Bench({}, plan, max_turns=1).search(beam(1, 3), stream=stream)
        assert path_of(search, search.kept[0]) == "1"
        assert search.kept[0].penalty == 0.0


def test_invalid_candidates_rank_behind_every_valid_one() -> None:
    table = {"a": value(-0.9), "b": value(-0.5)}
    search = Bench(table, planned({"": "-?ab"}), max_turns=1).search(beam(4, 4), keep=3)
    assert outline(search).splitlines()[:2] in (
        ["0 ~! -0.1 max_turns *", "1 ~! -0.1 max_turns"],
        ["0 ~! -0.1 max_turns", "1 ~! -0.1 max_turns *"],
    )
    assert histories(search) == ["b", "a", ""]


def test_a_partly_known_answer_is_valid_but_pays_the_penalty() -> None:
    search = Bench({"a": value(0.5), "b": value(0.45)}, planned({"": "Ab"}), max_turns=1).search(beam(1, 2))
    assert outline(search) == lines("""
        0 a! 0.4 max_turns
        1 b 0.45 max_turns *
    """)


def test_where_every_candidate_is_invalid_one_is_kept_and_pays() -> None:
    bench = Bench({}, planned({"": "--", "0": "--", "1": "--"}, spare="z"), max_turns=2)
    search = bench.search(beam(1, 2))
    (leaf,) = search.kept
    assert (leaf.depth, leaf.cumulative, leaf.history, leaf.stop) == (2, -0.2, ((), ()), StopReason.MAX_TURNS)
    assert not leaf.success
    assert bench.engine.ledger.total.env_steps == 0


def test_the_score_never_enters_rewards() -> None:
    search = Bench({"a": value(0.9), "b": value(0.1)}, planned({"": "ab"}), max_turns=1).search(beam(1, 2))
    assert (search.kept[0].score, search.kept[0].cumulative) == (0.9, 0.0)


def test_later_rewards_are_discounted_in_the_score_only() -> None:
    table = {"a": (1.0, False, False, 0.0), "aa": (1.0, False, False, 0.0)}
    search = Bench(table, planned({"": "a", "0": "a"}), max_turns=2, discount=0.5).search(beam(1, 1))
    assert (search.kept[0].score, search.kept[0].discounted, search.kept[0].cumulative) == (1.5, 1.5, 2.0)
