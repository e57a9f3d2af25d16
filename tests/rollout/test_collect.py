"""The same seed gives the same trajectories, whoever shares the batch; prompts grow token by token."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.components.search.worlds import HashedTable, moody_script
from tests.scripted import Bench
from tsrflow import streams
from tsrflow.components.search.beam import Beam
from tsrflow.components.search.bon import BestOfN
from tsrflow.components.search.config import BeamConfig, BestOfNConfig, LookaheadConfig, NaiveConfig
from tsrflow.components.search.lookahead import Lookahead
from tsrflow.components.search.naive import Naive
from tsrflow.protocols import SearchStrategy
from tsrflow.rollout.collect import Collector
from tsrflow.types import Cost, Group, RolloutBatch, Trajectory

STRATEGIES: list[SearchStrategy] = [
    Naive(NaiveConfig()),
    BestOfN(BestOfNConfig(n=2)),
    BestOfN(BestOfNConfig(n=2, scope="group")),
    Beam(BeamConfig(width=2, candidates=2)),
    Lookahead(LookaheadConfig(candidates=2, depth=2), stochastic=True),
]


def collector(
    strategy: SearchStrategy, *, seed: int = 5, noise: float = 0.3, draws: int = 0
) -> tuple[Collector, Bench]:
    bench = Bench(HashedTable(seed), moody_script(seed), noise=noise, scoring_draws=draws)
    parts = Collector(
        bench.engine, bench.env, strategy, Naive(NaiveConfig()), tasks=4, group_size=4, keep=1, mix=0.5, seed=seed
    )
    return parts, bench


def row(trajectory: Trajectory) -> tuple[object, ...]:
    arrays = (
        trajectory.token_ids,
        trajectory.sampled,
        trajectory.turn_index,
        trajectory.logprobs,
        trajectory.weights,
        trajectory.turn_rewards,
    )
    scores = tuple(node.score for node in trajectory.tree.nodes)
    return (
        trajectory.task,
        trajectory.group,
        trajectory.search,
        trajectory.searched,
        scores,
        *(a.tobytes() for a in arrays),
    )


def rows(groups: Sequence[Group]) -> dict[int, list[tuple[object, ...]]]:
    return {group.id: [row(t) for t in group.trajectories] for group in groups}


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 2**30),
    st.sampled_from(STRATEGIES),
    st.permutations(range(4)),
    st.lists(st.integers(1, 3), max_size=2),
    st.sampled_from([0, 2]),
)
def test_any_split_of_the_slots_over_calls_and_engines_in_any_order_gives_the_same_groups(
    seed: int, strategy: SearchStrategy, order: list[int], cuts: list[int], draws: int
) -> None:
    whole, _ = collector(strategy, seed=seed, draws=draws)
    reference = rows(whole.collect(7, range(4)).groups)
    assert len(reference) == 4
    edges = [0, *sorted(set(cuts)), 4]
    shared, _ = collector(strategy, seed=seed, draws=draws)
    together: dict[int, list[tuple[object, ...]]] = {}
    apart: dict[int, list[tuple[object, ...]]] = {}
    for start, end in itertools.pairwise(edges):
        slots = order[start:end]
        if slots:
            together |= rows(shared.collect(7, slots).groups)
            apart |= rows(collector(strategy, seed=seed, draws=draws)[0].collect(7, slots).groups)
    assert together == reference
    assert apart == reference


def test_another_seed_step_or_slot_gives_other_draws() -> None:
    parts, _ = collector(STRATEGIES[3])
    one = rows(parts.collect(0, range(4)).groups)
    assert one == rows(parts.collect(0, range(4)).groups)
    assert not set(one) & set(rows(parts.collect(1, range(4)).groups))
    members = [member[5:] for group in one.values() for member in group]
    assert len({str(m) for m in members}) > len(members) // 2
    again = Collector(
        parts._engine, parts._env, STRATEGIES[3], STRATEGIES[0], tasks=4, group_size=4, keep=1, mix=0.5, seed=6
    )
    assert rows(again.collect(0, range(4)).groups) != one


def test_members_of_a_group_share_the_task_but_not_the_dynamics() -> None:
    parts, _ = collector(Naive(NaiveConfig()))
    (group,) = parts.collect(0, [0]).groups
    assert len({t.task for t in group.trajectories}) == 1
    assert len({t.path[0].stream for t in group.trajectories}) == 4


def test_every_slot_and_step_has_a_task_of_its_own() -> None:
    parts, _ = collector(STRATEGIES[0])
    tasks = [parts.training_task(step, slot) for step in range(3) for slot in range(4)]
    assert [task.index for task in tasks] == list(range(12))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**30), st.sampled_from(STRATEGIES))
def test_the_next_prompt_starts_with_the_last_one_and_exactly_what_was_sampled(
    seed: int, strategy: SearchStrategy
) -> None:
    parts, bench = collector(strategy, seed=seed)
    sampled: dict[int, tuple[list[int], list[int]]] = {}
    generate = bench.generator.generate

    def remember(requests, temperature=None):  # type: ignore[no-untyped-def]
        answers = generate(requests, temperature)
        for request, turns in zip(requests, answers, strict=True):
            for sample_seed, turn in zip(request.seeds, turns, strict=True):
                sampled[sample_seed] = (request.prompt_ids.tolist(), turn.token_ids.tolist())
        return answers

    bench.generator.generate = remember  # type: ignore[method-assign]
    batch = parts.collect(0, range(2))
    trees = {id(t.tree): t.tree for t in batch.trajectories}.values()
    assert trees
    for tree in trees:
        for node in tree.nodes[1:]:
            prompt, turn = sampled[streams.fold(node.stream, "tokens")]
            assert node.parent is not None
            assert prompt == tree.token_ids(node.parent).tolist()
            assert tree.token_ids(node.id)[: len(prompt) + len(turn)].tolist() == prompt + turn
            assert node.num_sampled == len(turn)
            for child in tree.children[node.id]:
                after, _ = sampled[streams.fold(tree.nodes[child].stream, "tokens")]
                assert after[: len(prompt) + len(turn)] == prompt + turn


def test_the_ledger_counts_what_the_generator_and_environments_were_asked_for() -> None:
    parts, bench = collector(STRATEGIES[3], noise=0.0)
    batch: RolloutBatch = parts.collect(0, range(4))
    requests = [request for batch in bench.generator.requests for request in batch]
    assert batch.cost.llm_calls == sum(len(request.seeds) for request in requests)
    assert batch.cost.prefill_tokens == sum(len(request.prompt_ids) for request in requests)
    assert batch.cost.env_steps == sum(env.steps for env in bench.envs)  # type: ignore[attr-defined]
    trees = {id(t.tree): t.tree for t in batch.trajectories}.values()
    assert batch.cost.decode_tokens == sum(node.num_sampled for tree in trees for node in tree.nodes)
    assert batch.cost.rollout_seconds > 0
    assert batch.cost + Cost() == batch.cost
    again = parts.collect(0, range(4)).cost
    assert (again.llm_calls, again.env_steps) == (batch.cost.llm_calls, batch.cost.env_steps)


def test_all_live_searches_share_one_generator_call_per_turn() -> None:
    parts, bench = collector(STRATEGIES[3])
    parts.collect(0, range(4))
    assert len(bench.generator.requests) <= 3
    assert len(bench.generator.requests[0]) == 4 * 4


def test_evaluation_is_naive_and_depends_on_the_task_alone() -> None:
    parts, bench = collector(STRATEGIES[3])
    tasks = [bench.env.task("validation", i) for i in range(6)]
    whole = parts.evaluate(tasks, 0.5)
    assert [len(search.kept) for search in whole] == [1] * 6
    assert not any(search.searched for search in whole)
    assert all(len(search.tree.children[node.id]) <= 1 for search in whole for node in search.tree.nodes)
    alone = [search for i in (3, 1, 5) for search in parts.evaluate([tasks[i]], 0.5)]
    for search, index in zip(alone, (3, 1, 5), strict=True):
        assert search.tree.token_ids(search.kept[0].id).tolist() == (
            whole[index].tree.token_ids(whole[index].kept[0].id).tolist()
        )


def test_the_temperature_reaches_the_generator() -> None:
    parts, bench = collector(STRATEGIES[0])
    asked: list[float | None] = []
    generate = bench.generator.generate
    bench.generator.generate = lambda requests, temperature=None: (  # type: ignore[method-assign]
        asked.append(temperature) or generate(requests, temperature)
    )
    parts.collect(0, [0])
    parts.evaluate([bench.env.task("validation", 0)], 0)
    assert asked[0] is None
    assert asked[-1] == 0


def test_trajectories_carry_the_policy_version_of_their_samples() -> None:
    parts, bench = collector(STRATEGIES[3])
    bench.generator.sync(None, 4)
    batch = parts.collect(0, range(2))
    assert {node.policy_version for t in batch.trajectories for node in t.path} == {4}


def test_unknown_array_lengths_are_refused_at_construction() -> None:
    parts, _ = collector(STRATEGIES[0])
    good = parts.collect(0, [0]).trajectories[0]
    fields = {name: getattr(good, name) for name in Trajectory.__dataclass_fields__}
    with pytest.raises(ValueError, match="per-token arrays differ in length"):
        Trajectory(**{**fields, "logprobs": good.logprobs[:-1]})
    with pytest.raises(ValueError, match="turn rewards for"):
        Trajectory(**{**fields, "turn_rewards": good.turn_rewards[:-1]})
    with pytest.raises(ValueError, match="exactly where a token was sampled"):
        Trajectory(**{**fields, "sampled": ~good.sampled})
