"""What holds for every world, policy and seed."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.components.search.golden import planned
from tests.components.search.worlds import HashedTable, Watched, beams, moody_script, same_tree
from tests.scripted import Bench, histories
from tsrflow.components.search.beam import Beam
from tsrflow.components.search.bon import BestOfN
from tsrflow.components.search.config import BeamConfig, BestOfNConfig, LookaheadConfig, NaiveConfig
from tsrflow.components.search.lookahead import Lookahead
from tsrflow.components.search.naive import Naive
from tsrflow.protocols import SearchStrategy
from tsrflow.rollout.live import Search
from tsrflow.types import Node

seeds = st.integers(0, 2**40)
noises = st.sampled_from([0.0, 0.3])
fast = settings(max_examples=50, deadline=None)


def run(strategy: SearchStrategy, seed: int, *, keep: int = 1, noise: float = 0.0, turns: int = 3) -> Search:
    bench = Bench(HashedTable(seed), moody_script(seed), max_turns=turns, noise=noise)
    return bench.search(strategy, keep=keep, stream=seed)


def best(nodes: list[Node]) -> tuple[bool, float]:
    return max((node.valid, node.score) for node in nodes)


@fast
@given(seeds, st.integers(2, 4), st.integers(1, 4), noises)
def test_beam_is_not_below_greedy_up_to_the_turn_in_which_the_greedy_prefix_leaves_it(
    seed: int, width: int, candidates: int, noise: float
) -> None:
    greedy = Watched(Beam(BeamConfig(width=1, candidates=candidates)))
    wide = Watched(Beam(BeamConfig(width=width, candidates=candidates)))
    alone = beams(run(greedy, seed, noise=noise), greedy.rounds, 1)
    together = beams(run(wide, seed, noise=noise), wide.rounds, width)
    for turn in range(1, max(len(alone), len(together))):
        (before,), beam_before = alone[min(turn - 1, len(alone) - 1)], together[min(turn - 1, len(together) - 1)]
        if before.stream not in {node.stream for node in beam_before}:
            return
        assert best(together[min(turn, len(together) - 1)]) >= best(alone[min(turn, len(alone) - 1)])


@fast
@given(seeds, st.integers(1, 3))
def test_beam_is_never_below_greedy_where_nothing_is_pruned(seed: int, candidates: int) -> None:
    paths = [""]
    for path in paths:
        if len(path) < 2:
            paths += [path + str(number) for number in range(candidates)]
    script = planned({path: "abc"[:candidates] for path in paths}, stream=seed)

    def search(width: int) -> Search:
        bench = Bench(HashedTable(seed), script, max_turns=3)
        return bench.search(Beam(BeamConfig(width=width, candidates=candidates)), stream=seed)

    assert best(search(candidates**3).kept) >= best(search(1).kept)


def test_once_the_greedy_prefix_has_left_a_pruned_beam_may_end_below_greedy() -> None:
    """a leads to the best end, but its children look worse than those of b in between, so beam drops them; greedy has
    nothing else to go on with."""
    value = {"a": 0.5, "b": 0.4, "aa": 0.1, "ba": 0.3, "bb": 0.2, "aaa": 1.0}
    table = {path: (0.0, False, False, potential) for path, potential in value.items()}
    plan = {path: "ab" for path in ("", "0", "1", "00", "01", "10", "11")}

    def search(width: int) -> Search:
        return Bench(table, planned(plan)).search(Beam(BeamConfig(width=width, candidates=2)))

    assert histories(search(1)) == ["a|a|a"]
    assert search(2).kept[0].score < search(1).kept[0].score == 1.0


@fast
@given(seeds, noises)
def test_best_of_one_is_naive(seed: int, noise: float) -> None:
    one = run(BestOfN(BestOfNConfig(n=1)), seed, noise=noise)
    assert same_tree(one, run(Naive(NaiveConfig()), seed, noise=noise))


@fast
@given(seeds, st.integers(1, 5), noises)
def test_lookahead_of_depth_one_is_beam_of_width_one(seed: int, candidates: int, noise: float) -> None:
    look = run(Lookahead(LookaheadConfig(candidates=candidates, depth=1)), seed, noise=noise)
    assert same_tree(look, run(Beam(BeamConfig(width=1, candidates=candidates)), seed, noise=noise))


@fast
@given(seeds, st.integers(1, 3), st.integers(1, 3), st.integers(1, 3), st.integers(1, 2), st.integers(1, 4))
def test_no_strategy_exceeds_its_budget_of_llm_calls(
    seed: int, width: int, candidates: int, depth: int, branch: int, turns: int
) -> None:
    subtree = sum(branch**level for level in range(depth))
    budgets: list[tuple[SearchStrategy, int, int]] = [
        (Naive(NaiveConfig()), 1, turns),
        (BestOfN(BestOfNConfig(n=candidates)), 1, candidates * turns),
        (BestOfN(BestOfNConfig(n=candidates, scope="group")), width, candidates * width * turns),
        (Beam(BeamConfig(width=width, candidates=candidates)), 1, candidates * (1 + width * (turns - 1))),
        (
            Lookahead(LookaheadConfig(candidates=candidates, depth=depth, branch=branch)),
            1,
            candidates * subtree * turns,
        ),
    ]
    for strategy, keep, budget in budgets:
        bench = Bench(HashedTable(seed), moody_script(seed), max_turns=turns)
        search = bench.search(strategy, keep=keep, stream=seed)
        assert bench.engine.ledger.total.llm_calls == len(search.tree.nodes) - 1 <= budget
        assert len(search.kept) == (keep if strategy.keep_of(keep, keep) > 1 else 1)
        assert bench.engine.ledger.total.env_steps <= 2 * bench.engine.ledger.total.llm_calls


def test_the_budgets_are_reached_where_no_episode_ends_early() -> None:
    def calls(strategy: SearchStrategy) -> int:
        bench = Bench({}, planned({}), max_turns=4)
        bench.search(strategy)
        return bench.engine.ledger.total.llm_calls

    assert calls(Naive(NaiveConfig())) == 4
    assert calls(BestOfN(BestOfNConfig(n=3))) == 12
    # every child plays "a": duplicates leave one prefix in the beam
    assert calls(Beam(BeamConfig(width=2, candidates=3))) == 12
    # subtrees are cut where only one turn is left
    assert calls(Lookahead(LookaheadConfig(candidates=3, depth=2, branch=2))) == 3 * (1 + 2) * 3 + 3


@fast
@given(seeds, st.integers(1, 3))
def test_kept_leaves_are_finished_distinct_and_best_first(seed: int, keep: int) -> None:
    for strategy in (Beam(BeamConfig(width=3, candidates=3)), BestOfN(BestOfNConfig(n=3))):
        kept = run(strategy, seed, keep=keep).kept
        ranks = [(leaf.valid, leaf.score) for leaf in kept]
        assert all(leaf.done and leaf.stop is not None for leaf in kept)
        assert len({leaf.id for leaf in kept}) == len(kept) <= keep
        assert ranks == sorted(ranks, reverse=True)
        assert not any(leaf.success and leaf.stop != "terminated" for leaf in kept)
