"""Every rule of the scorer contract, broken on purpose by a small scorer."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tsrflow.components.envs.frozenlake import FrozenLake, FrozenLakeConfig
from tsrflow.components.scorers.config import EnvRewardConfig, ProgressConfig
from tsrflow.components.scorers.env_reward import EnvRewardScorer
from tsrflow.components.scorers.progress import ProgressScorer
from tsrflow.testing import ContractError, TableEnv, check_scorer
from tsrflow.types import ScoringContext

Body = Callable[[Sequence[ScoringContext]], Any]


class Custom:
    """Scores with one function."""

    def __init__(self, body: Body, privileged: Any = False) -> None:
        self.score = body
        self.privileged = privileged


def test_built_in_scorers_keep_the_contract() -> None:
    for env in (None, FrozenLake(FrozenLakeConfig(slip=0.2))):
        check_scorer(ProgressScorer(ProgressConfig()), env)
        check_scorer(EnvRewardScorer(EnvRewardConfig()), env)


def test_a_privileged_scorer_may_look() -> None:
    seen: list[str] = []

    def look(contexts: Sequence[ScoringContext]) -> list[float]:
        seen.extend(context.env.state_hash() for context in contexts)
        return [float(len(contexts[0].env.state_hash()))]

    check_scorer(Custom(look, True), TableEnv({}))
    assert len(set(seen)) > 3


calls = 0


def counts_calls(contexts: Sequence[ScoringContext]) -> list[float]:
    global calls
    calls += 1
    return [float(calls)] * len(contexts)


def chance(contexts: Sequence[ScoringContext]) -> list[float]:
    return [random.random() for _ in contexts]


def normalised(contexts: Sequence[ScoringContext]) -> list[float]:
    return [c.discounted - max(o.discounted for o in contexts) for c in contexts]


def positional(contexts: Sequence[ScoringContext]) -> list[float]:
    return [c.discounted + (i > 3) for i, c in enumerate(contexts)]


def plays_on(contexts: Sequence[ScoringContext]) -> list[float]:
    contexts[0].env.step("c")
    return [0.0]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (lambda cs: [0.0], r"score\(\) returned 1 numbers for \d+ contexts"),
        (lambda cs: [0.0] * (len(cs) + 1), r"score\(\) returned 2 numbers for 1 contexts"),
        (lambda cs: [float("nan")] * len(cs), r"score\(\) returned nan; every score must be a finite number"),
        (lambda cs: [float("-inf")] * len(cs), r"score\(\) returned -inf; every score must be a finite number"),
        (lambda cs: [None] * len(cs), r"score\(\) returned None; every score must be a finite number"),
        (lambda cs: ["1"] * len(cs), r"score\(\) returned '1'; every score must be a finite number"),
        (lambda cs: [c.success for c in cs], r"score\(\) returned False; every score must be a finite number"),
        (lambda cs: [c.potential * 2 for c in cs], r"score\(\) raised TypeError: .*potential None\)"),
        (lambda cs: [float(len(c.turn.actions[0])) for c in cs], r"score\(\) raised IndexError: .*actions \(\)"),
        (lambda cs: [c.info["success"] for c in cs], r"score\(\) raised KeyError: 'success'"),
        (lambda cs: [float(len(c.env.state_hash())) for c in cs], r"score\(\) raised AttributeError"),
        (counts_calls, "it must be a pure function"),
        (chance, "it must be a pure function"),
        (normalised, "scores must not depend on the batch"),
        (positional, "scores must not depend on the batch"),
    ],
)
def test_each_broken_rule_has_its_message(body: Body, message: str) -> None:
    with pytest.raises(ContractError, match=f"Custom: .*{message}"):
        check_scorer(Custom(body))


def test_a_scorer_that_changes_the_environment_is_caught() -> None:
    with pytest.raises(ContractError, match="Custom: changed the environment"):
        check_scorer(Custom(plays_on, True), TableEnv({}))


@pytest.mark.parametrize("privileged", [None, 1, "yes"])
def test_a_scorer_must_say_whether_it_is_privileged(privileged: Any) -> None:
    with pytest.raises(ContractError, match=r"privileged is .*; it must say True or False"):
        check_scorer(Custom(lambda cs: [0.0] * len(cs), privileged))


def test_what_is_no_scorer_is_named() -> None:
    with pytest.raises(ContractError, match=r"object: has no method score\(\)"):
        check_scorer(object())  # type: ignore[arg-type]
