"""Every rule of the filter contract, broken on purpose by a small filter."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from tsrflow.components.filters.config import NoFilterConfig, RewardStdConfig, TopPConfig
from tsrflow.components.filters.none import NoFilter
from tsrflow.components.filters.reward_std import RewardStdFilter
from tsrflow.components.filters.top_p import TopPFilter
from tsrflow.protocols import InstanceFilter
from tsrflow.testing import ContractError, check_filter
from tsrflow.types import Group


@pytest.mark.parametrize(
    "make",
    [
        lambda: NoFilter(NoFilterConfig()),
        lambda: RewardStdFilter(RewardStdConfig()),
        lambda: RewardStdFilter(RewardStdConfig(members="naive", metric="success", include_zero=True)),
        lambda: TopPFilter(TopPConfig()),
        lambda: TopPFilter(TopPConfig(metric="score", p=0.5)),
    ],
)
def test_built_in_filters_keep_the_contract(make: Callable[[], InstanceFilter]) -> None:
    check_filter(make)


class Custom:
    """Admits groups better than the running mean; a test replaces one part."""

    admitted: Callable[[list[bool], Sequence[Group]], Any] = staticmethod(lambda decisions, groups: decisions)

    def __init__(self) -> None:
        self.mean, self.steps = 0.0, 0

    def admit(self, groups: Sequence[Group]) -> list[bool]:
        returns = [float(group.metric("return").sum()) for group in groups]
        decisions = [value >= self.mean for value in returns]
        self.steps += 1
        self.mean += (sum(returns) / max(len(returns), 1) - self.mean) / self.steps
        return type(self).admitted(decisions, groups)  # type: ignore[no-any-return]

    def state_dict(self) -> dict[str, Any]:
        return {"mean": self.mean, "steps": self.steps}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.mean, self.steps = state["mean"], state["steps"]


def test_the_filter_that_the_others_spoil_is_fine() -> None:
    check_filter(Custom)


def spoils_rewards(decisions: list[bool], groups: Sequence[Group]) -> list[bool]:
    for group in groups:
        for trajectory in group.trajectories:
            trajectory.turn_rewards[:] = 0.125
    return decisions


def reads_the_first_member(decisions: list[bool], groups: Sequence[Group]) -> list[bool]:
    return [group.trajectories[0].success or True for group in groups]


@pytest.mark.parametrize(
    ("admitted", "message"),
    [
        (lambda decisions, groups: decisions[:-1], r"admit\(\) returned 2 decisions for 3 groups"),
        (lambda decisions, groups: decisions or [True], r"admit\(\) returned 1 decisions for 0 groups \(no group\)"),
        (lambda decisions, groups: [int(d) for d in decisions], "it must return a list of True and False"),
        (lambda decisions, groups: np.array(decisions, dtype=bool), "it must return a list of True and False"),
        (lambda decisions, groups: [np.bool_(d) for d in decisions], "it must return a list of True and False"),
        (lambda decisions, groups: None, r"admit\(\) returned None"),
        (lambda decisions, groups: [random.random() < 0.5 for _ in groups], "two fresh filters decide differently"),
        (spoils_rewards, r"admit\(\) changed the groups"),
        (reads_the_first_member, r"admit\(\) raised IndexError for a group that lost all its trajectories"),
    ],
)
def test_each_broken_rule_of_admit_has_its_message(admitted: Callable[..., Any], message: str) -> None:
    broken = type("Broken", (Custom,), {"admitted": staticmethod(admitted)})
    with pytest.raises(ContractError, match=f"Broken: .*{message}"):
        check_filter(broken)


class Forgetting(Custom):
    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None: ...


class NotLoading(Custom):
    def load_state_dict(self, state: Mapping[str, Any]) -> None: ...


class Unwritable(Custom):
    def state_dict(self) -> dict[str, Any]:
        return {"mean": np.float32(self.mean)}


class NoDict(Custom):
    def state_dict(self) -> Any:
        return [self.mean]


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (Forgetting, r"Forgetting: resumed from its state it decides differently .* state_dict\(\) lacks something"),
        (NotLoading, r"NotLoading: load_state_dict\(\) does not restore what state_dict\(\) gave"),
        (Unwritable, r"Unwritable: state_dict\(\) cannot be written as JSON"),
        (NoDict, r"NoDict: state_dict\(\) is \[.*\]; it must be a dict"),
    ],
)
def test_each_broken_rule_of_state_has_its_message(broken: Callable[[], InstanceFilter], message: str) -> None:
    with pytest.raises(ContractError, match=message):
        check_filter(broken)


def test_make_must_build_a_fresh_filter() -> None:
    shared = Custom()
    with pytest.raises(ContractError, match=r"make\(\) returned the same filter twice"):
        check_filter(lambda: shared)
