"""Environments that raise or hang and scorers that answer nonsense: what is lost, what goes on, what is said."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import pytest

from tests.components.search.golden import outline, planned
from tests.scripted import Bench, answer, histories
from tsrflow.components.search.beam import Beam
from tsrflow.components.search.config import BeamConfig, LookaheadConfig, NaiveConfig
from tsrflow.components.search.lookahead import Lookahead
from tsrflow.components.search.naive import Naive
from tsrflow.errors import RunError
from tsrflow.rollout.collect import Collector
from tsrflow.rollout.metrics import finish
from tsrflow.testing.scripted import TableEnv
from tsrflow.types import ScoringContext, StopReason, Task

release = threading.Event()
"""Set at the end of every test here, so that no thread hangs on."""


@pytest.fixture(autouse=True)
def _release():  # type: ignore[no-untyped-def]
    release.clear()
    yield
    release.set()


class Faulty(TableEnv):
    """b raises, c hangs, d gives a reward that is no number; tasks 1, 4, 7, … cannot start, 2, 5, 8, … hang."""

    touched_by: set[int]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.touched_by = set()

    def reset(self, task: Task) -> tuple[str, dict[str, Any]]:
        self.touched_by.add(threading.get_ident())
        if task.index % 3 == 1:
            raise RuntimeError(f"no map for task {task.index}")
        if task.index % 3 == 2:
            release.wait(20)
        return super().reset(task)

    def restore(self, snapshot: tuple[str, int]) -> None:
        self.touched_by.add(threading.get_ident())
        super().restore(snapshot)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self.touched_by.add(threading.get_ident())
        if action == "b":
            raise RuntimeError("the engine room is on fire")
        if action == "c":
            release.wait(20)
        observation, reward, terminated, truncated, info = super().step(action)
        return observation, float("nan") if action == "d" else reward, terminated, truncated, info


def beam(width: int = 2, candidates: int = 3) -> Beam:
    return Beam(BeamConfig(width=width, candidates=candidates))


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        ("b", "RuntimeError: the engine room is on fire"),
        ("c", "step took longer than 0.05 s"),
        ("d", "ValueError: step gave observation 'at d', reward nan and potential 0.0; they must be text and finite"),
    ],
)
def test_a_turn_lost_to_the_environment_is_out_and_the_search_goes_on(action: str, reason: str) -> None:
    bench = Bench({}, planned({"": f"a{action}a"}), env=Faulty, timeout=0.05, max_turns=1)
    search = bench.search(beam())
    assert outline(search).splitlines()[1] == f"1 {action} -inf env_error"
    assert histories(search) == ["a"]
    assert len(search.errors) == 1
    assert search.errors[0].startswith(reason)


def test_a_hung_thread_never_touches_an_environment_that_is_still_in_use() -> None:
    plan = planned({"": "caac", "1": "acaa", "2": "aaca"})
    bench = Bench({}, plan, env=Faulty, timeout=0.05, max_turns=2, noise=0.3, scoring_draws=3)
    hung = bench.search(beam(2, 4))
    release.set()
    after = bench.search(Beam(BeamConfig(width=2, candidates=4)), stream=1)
    fresh = Bench({}, plan, env=TableEnv, max_turns=2, noise=0.3, scoring_draws=3).search(beam(2, 4), stream=1)
    assert outline(after) == outline(fresh)
    assert len(hung.errors) >= 2
    threads = [env.touched_by for env in bench.envs if isinstance(env, Faulty)]
    assert all(len(touched) <= 1 for touched in threads)
    assert sum(len(touched) for touched in threads) >= 3


class Burning(TableEnv):
    """b raises, everything else is as in the table."""

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        if action == "b":
            raise RuntimeError("fire")
        return super().step(action)


@pytest.mark.parametrize("aggregate", ["max", "mean"])
@pytest.mark.parametrize(("own", "committed"), [(0.5, 1), (0.35, 2)])
def test_lookahead_ignores_continuations_lost_to_the_environment(aggregate: str, own: float, committed: int) -> None:
    """a loses both continuations and counts for itself; c loses one and counts for the other: .3 + .1."""
    table = {"a": (own, False, False, 0.0), "c": (0.3, False, False, 0.0), "ca": (0.1, False, False, 0.0)}
    config = LookaheadConfig(candidates=2, depth=2, branch=2, aggregate=aggregate)  # type: ignore[arg-type]
    bench = Bench(table, planned({"": "ac", "0": "bb", "1": "ab"}), env=Burning, max_turns=2)
    search = bench.search(Lookahead(config))
    assert search.tree.selections[0].kept == (committed,)
    assert search.kept[0].stop is StopReason.MAX_TURNS


def test_where_every_turn_is_lost_the_leaf_says_so() -> None:
    search = Bench({}, planned({"": "bbb"}), env=Faulty).search(beam())
    assert {leaf.stop for leaf in search.kept} == {StopReason.ENV_ERROR}


def collector(bench: Bench, strategy: Beam | Naive, tasks: int = 3) -> Collector:
    return Collector(
        bench.engine,
        bench.env,
        strategy,
        Naive(NaiveConfig()),
        tasks=tasks,
        group_size=4,
        keep=1,
        mix=0.5,
        seed=3,
    )


def test_the_group_goes_on_and_losses_are_counted() -> None:
    def script(prompt: str, seed: int) -> str:
        return answer("ab"[seed % 2])

    bench = Bench({}, script, env=Faulty, max_turns=3)
    batch = collector(bench, beam(1, 2), tasks=1).collect(0, [0])
    (group,) = batch.groups
    kept = group.trajectories
    assert 0 < len(kept) < 4
    assert all(t.leaf.stop is not StopReason.ENV_ERROR for t in kept)
    assert finish(batch.tallies)["rollout/dropped"] == 4 - len(kept)
    failures = sum(n.stop is StopReason.ENV_ERROR for t in kept for n in t.tree.nodes)
    assert finish(batch.tallies)["rollout/env_errors"] >= finish(batch.tallies)["rollout/dropped"] + failures


def test_tasks_that_cannot_start_leave_empty_groups_and_the_others_alone() -> None:
    bench = Bench({}, lambda prompt, seed: answer("a"), env=Faulty, max_turns=2, timeout=0.05)
    batch = collector(bench, beam()).collect(0, [0, 1, 2])
    assert [len(group.trajectories) for group in batch.groups] == [4, 0, 0]
    assert finish(batch.tallies)["rollout/dropped"] == 8
    assert finish(batch.tallies)["rollout/env_errors"] == 8
    assert finish(batch.tallies)["train/success"] == 0.0


def test_losing_everything_stops_the_run_with_the_first_reason() -> None:
    bench = Bench({}, lambda prompt, seed: answer("b"), env=Faulty, max_turns=2)
    with pytest.raises(RunError, match=r"step 0: every trajectory was lost .* the engine room is on fire"):
        collector(bench, beam()).collect(0, [0])


def test_a_task_whose_first_prompt_cannot_be_made_is_one_clear_error() -> None:
    bench = Bench({}, env=Faulty, timeout=0.05)
    assert bench.engine.first_prompt_tokens(bench.env.task("train", 0)) > 0
    with pytest.raises(RunError, match="cannot start task table/train/1: RuntimeError: no map for task 1"):
        bench.engine.first_prompt_tokens(bench.env.task("train", 1))


class Odd:
    """Answers ``reply`` for every batch."""

    def __init__(self, reply: Any, privileged: bool) -> None:
        self.reply = reply
        self.privileged = privileged

    def score(self, contexts: Sequence[ScoringContext]) -> Sequence[float]:
        if isinstance(self.reply, Exception):
            raise self.reply
        return self.reply  # type: ignore[no-any-return]


@pytest.mark.parametrize("privileged", [False, True])
@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ([float("nan")], "scorer Odd returned nan for a prefix of table/train/0 after turn 1; scores must be finite"),
        ([float("inf")], "scorer Odd returned inf for a prefix"),
        ([], "scorer Odd returned 0 scores for 1 prefixes"),
        ([0.0, 1.0], "scorer Odd returned 2 scores for 1 prefixes"),
        ([None], "scorer Odd raised TypeError"),
        (KeyError("goal"), "scorer Odd raised KeyError: 'goal'"),
    ],
)
def test_a_scorer_at_fault_is_named(privileged: bool, reply: Any, message: str) -> None:
    bench = Bench({}, lambda prompt, seed: answer("a"), scorer=Odd(reply, privileged))
    with pytest.raises(RunError, match=message):
        bench.search(Naive(NaiveConfig()))


class Peeking:
    """Remembers what it saw of the environment."""

    def __init__(self, privileged: bool) -> None:
        self.privileged = privileged
        self.seen: list[tuple[str, str | None]] = []

    def score(self, contexts: Sequence[ScoringContext]) -> list[float]:
        for context in contexts:
            actions = "".join("".join(turn) for turn in context.history)
            self.seen.append((actions, None if context.env is None else context.env.state_hash()))
        return [0.0] * len(contexts)


def test_a_privileged_scorer_sees_the_environment_after_every_turn_even_one_without_actions() -> None:
    scorer = Peeking(privileged=True)
    bench = Bench({}, planned({"": "ab-", "2": "-ab"}), scorer=scorer, max_turns=2)
    search = bench.search(beam(3, 3))
    assert {actions for actions, _ in scorer.seen} >= {"", "a", "b", "aa"}
    assert all(actions == state for actions, state in scorer.seen)
    assert bench.engine.ledger.total.env_steps == len({n.history for n in search.tree.nodes[1:] if n.valid})


def test_other_scorers_never_see_the_environment() -> None:
    scorer = Peeking(privileged=False)
    Bench({}, planned({"": "ab-"}), scorer=scorer, max_turns=1).search(beam(3, 3))
    assert [state for _, state in scorer.seen] == [None] * 3


def test_a_privileged_scorer_judges_the_honest_draws_not_the_executed_turn() -> None:
    class Luck(Peeking):
        def score(self, contexts: Sequence[ScoringContext]) -> list[float]:
            return [context.reward for context in contexts]

    bench = Bench({}, planned({"": "a"}), scorer=Luck(True), noise=0.5, scoring_draws=3, max_turns=1)
    plain = Bench({}, planned({"": "a"}), scorer=Luck(False), noise=0.5, scoring_draws=3, max_turns=1)
    one, other = (b.search(beam(1, 1)).kept[0] for b in (bench, plain))
    assert one.score == other.score != one.reward
