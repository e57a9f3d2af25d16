"""Instance filters: which groups are kept, at ties, under float noise, and for any spread."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.components.made import made_group
from tsrflow.components.filters.config import NoFilterConfig, RewardStdConfig, TopPConfig
from tsrflow.components.filters.none import NoFilter
from tsrflow.components.filters.reward_std import RewardStdFilter
from tsrflow.components.filters.spread import spreads
from tsrflow.components.filters.top_p import TopPFilter
from tsrflow.protocols import InstanceFilter
from tsrflow.types import Group

NOISE = [0.7, 0.1 + 0.6, 0.3 + 0.4, 0.7 + 1e-7, 0.7 - 1e-7]
groups_of_returns = st.lists(
    st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0, -0.1]), min_size=1, max_size=5), max_size=8
)


def with_std(*stds: float) -> list[Group]:
    """Groups of two members whose standard deviations are ``stds``."""
    return [made_group([1.0 + std, 1.0 - std], number=i) for i, std in enumerate(stds)]


def kept(instance_filter: InstanceFilter, groups: Sequence[Group]) -> list[int]:
    admitted = instance_filter.admit(groups)
    assert len(admitted) == len(groups)
    return [i for i, keep in enumerate(admitted) if keep]


def reward_std(**values: Any) -> RewardStdFilter:
    return RewardStdFilter(RewardStdConfig.model_validate(values))


def top_p(**values: Any) -> TopPFilter:
    return TopPFilter(TopPConfig.model_validate(values))


# --- spread ---


def test_spread_is_the_population_standard_deviation() -> None:
    found = spreads([made_group([0.0, 1.0]), made_group([0.0, 0.0, 0.0, 1.0]), made_group([1.0])], RewardStdConfig())
    assert found == pytest.approx([0.5, math.sqrt(3) / 4, 0.0])


@pytest.mark.parametrize("scale", [1e-3, 1.0, -5.0, 1e4])
def test_float_noise_is_no_spread(scale: float) -> None:
    assert spreads([made_group([scale * x for x in NOISE])], RewardStdConfig()) == [0.0]


def test_the_only_loser_is_spread() -> None:
    found = spreads([made_group([0.0] + [0.95] * 7)], RewardStdConfig())
    assert found == pytest.approx([0.95 * math.sqrt(7) / 8])


def test_the_figure_is_what_was_asked_for() -> None:
    group = made_group([0.0, 1.0], successes=[True, True], scores=[0.2, 0.4])
    found = [spreads([group], RewardStdConfig(metric=m))[0] for m in ("return", "success", "score")]
    assert found == pytest.approx([0.5, 0.0, 0.1])


def test_naive_members_only() -> None:
    group = made_group([0.0, 1.0, 1.0, 1.0], searched=[True, False, False, True])
    assert spreads([group], RewardStdConfig(members="naive")) == [0.0]
    assert spreads([group], RewardStdConfig(members="all"))[0] > 0.4
    assert spreads([made_group([0.0, 1.0])], RewardStdConfig(members="naive")) == [0.0]  # it has none


def test_members_without_a_finite_score_do_not_count() -> None:
    group = made_group([0.0] * 3, scores=[0.5, -math.inf, 0.7])
    assert spreads([group], RewardStdConfig(metric="score")) == pytest.approx([0.1])
    assert spreads([made_group([0.0] * 2, scores=[0.5, -math.inf])], RewardStdConfig(metric="score")) == [0.0]


# --- none ---


def test_no_filter_keeps_everything() -> None:
    assert NoFilter(NoFilterConfig()).admit([made_group([1.0, 1.0]), made_group([0.0])]) == [True, True]


# --- reward_std ---


@pytest.mark.parametrize(
    ("fraction", "expected"), [(0.25, [2]), (0.26, [2, 3]), (0.5, [2, 3]), (0.75, [0, 2, 3]), (1.0, [0, 1, 2, 3])]
)
def test_reward_std_keeps_the_most_uncertain(fraction: float, expected: list[int]) -> None:
    assert kept(reward_std(fraction=fraction), with_std(0.2, 0.1, 0.5, 0.4)) == expected


@pytest.mark.parametrize(("fraction", "groups"), [(0.1, 30), (0.55, 20), (0.07, 100), (0.3, 10), (1 / 3, 9)])
def test_reward_std_rounds_up_only_where_something_is_left_over(fraction: float, groups: int) -> None:
    exact = round(fraction * groups)
    assert len(kept(reward_std(fraction=fraction), with_std(*[0.5] * groups))) == exact
    assert len(kept(reward_std(fraction=fraction + 1e-4), with_std(*[0.5] * groups))) == exact + 1


def test_reward_std_keeps_earlier_groups_at_ties() -> None:
    assert kept(reward_std(fraction=0.5), with_std(0.25, 0.5, 0.25, 0.25, 0.25, 0.25)) == [0, 1, 2]


def test_reward_std_never_keeps_a_group_without_spread_unless_asked() -> None:
    groups = [made_group([1.0, 1.0]), made_group([0.0, 1.0]), made_group(NOISE), made_group([0.0, 0.0])]
    assert kept(reward_std(fraction=1.0), groups) == [1]
    assert kept(reward_std(fraction=0.5, include_zero=True), groups) == [0, 1]
    assert kept(reward_std(fraction=1.0, include_zero=True), groups) == [0, 1, 2, 3]


def test_a_step_without_any_spread_keeps_nothing() -> None:
    groups = [made_group([1.0, 1.0]), made_group([0.0, 0.0])]
    assert kept(reward_std(), groups) == kept(top_p(), groups) == []


@pytest.mark.parametrize("made", [reward_std, top_p])
def test_groups_without_trajectories_are_never_kept(made: Any) -> None:
    empty = Group(5, made_group([0.0]).task, ())
    setting = {"fraction": 1.0} if made is reward_std else {"p": 1.0}
    assert kept(made(include_zero=True, **setting), [empty, made_group([0.0, 1.0])]) == [1]
    assert made().admit([]) == []


# --- top_p ---


@pytest.mark.parametrize(
    ("stds", "p", "expected"),
    [
        ((0.4, 0.3, 0.2, 0.1), 0.6, [0, 1]),  # the example of the docstring: .7 of 1.0 reaches .59
        ((0.1, 0.2, 0.3, 0.4), 0.6, [2, 3]),
        ((0.4, 0.3, 0.2, 0.1), 0.9, [0, 1, 2]),
        ((0.9, 0.05, 0.0, 0.0), 0.9, [0]),
        ((0.3, 0.3, 0.3, 0.3), 0.5, [0, 1]),
        ((0.4, 0.2, 0.0), 0.9, [0, 1]),
    ],
)
def test_top_p_takes_the_fewest_that_reach_the_target(stds: tuple[float, ...], p: float, expected: list[int]) -> None:
    assert kept(top_p(p=p), with_std(*stds)) == expected


def test_top_p_slack_spares_a_last_small_group() -> None:
    groups = with_std(0.5, 0.39, 0.11)  # .89 of the .90 that p=.9 asks for
    assert kept(top_p(p=0.9, eps=0.02), groups) == [0, 1]
    assert kept(top_p(p=0.9, eps=0.0), groups) == [0, 1, 2]


def test_top_p_of_one_keeps_all_that_have_spread() -> None:
    groups = [*with_std(0.5, 0.001), made_group([1.0, 1.0])]
    assert kept(top_p(p=1.0), groups) == [0, 1]
    assert kept(top_p(p=1.0, include_zero=True), groups) == [0, 1, 2]


def test_top_p_skips_a_step_whose_groups_hardly_differ() -> None:
    assert kept(top_p(), with_std(0.002, 0.002)) == []
    assert kept(top_p(eps=0.0), with_std(0.002, 0.002, 0.0)) == [0, 1]


@pytest.mark.parametrize("count", range(2, 24))
def test_top_p_counts_equal_groups_exactly(count: int) -> None:
    """k of n equal groups carry exactly k/n: no further one is taken because a sum is one bit short."""
    for k in range(1, count):
        assert len(kept(top_p(p=k / count, eps=0.0), with_std(*[0.1] * count))) == k


# --- any groups ---


@settings(deadline=None)
@given(groups_of_returns, st.sampled_from([0.1, 0.25, 0.5, 1.0]))
def test_reward_std_properties(returns: list[list[float]], fraction: float) -> None:
    groups = [made_group(values, number=i) for i, values in enumerate(returns)]
    chosen = kept(reward_std(fraction=fraction), groups)
    stds = [float(np.std(values)) for values in returns]
    with_spread = [i for i, values in enumerate(returns) if len(set(values)) > 1]
    assert len(chosen) == min(math.ceil(fraction * len(groups)), len(with_spread))
    assert set(chosen) <= set(with_spread)
    left = [stds[i] for i in with_spread if i not in chosen]
    assert not left or min(stds[i] for i in chosen) >= max(left) - 1e-6


@settings(deadline=None)
@given(groups_of_returns, st.sampled_from([0.2, 0.5, 0.9, 1.0]))
def test_top_p_properties(returns: list[list[float]], p: float) -> None:
    groups = [made_group(values, number=i) for i, values in enumerate(returns)]
    chosen = kept(top_p(p=p, eps=0.0), groups)
    stds = [float(np.std(values)) if len(set(values)) > 1 else 0.0 for values in returns]
    assert all(stds[i] > 0 for i in chosen)
    assert sum(stds[i] for i in chosen) >= p * sum(stds) - 1e-5
    smallest = min((stds[i] for i in chosen), default=0.0)
    assert p == 1 or sum(stds[i] for i in chosen) - smallest < p * sum(stds) + 1e-5
    assert all(stds[i] <= smallest + 1e-6 for i in range(len(groups)) if i not in chosen)


@settings(deadline=None)
@given(groups_of_returns, st.randoms(use_true_random=False))
@pytest.mark.parametrize("made", [reward_std, top_p])
def test_which_spreads_are_kept_does_not_depend_on_order(made: Any, returns: list[list[float]], random: Any) -> None:
    order = list(range(len(returns)))
    random.shuffle(order)
    groups = [made_group(values, number=i) for i, values in enumerate(returns)]
    figures = spreads(groups, RewardStdConfig())
    straight = sorted(figures[i] for i in kept(made(), groups))
    shuffled = sorted(figures[order[i]] for i in kept(made(), [groups[i] for i in order]))
    assert straight == shuffled


@pytest.mark.parametrize("made", [NoFilter(NoFilterConfig()), reward_std(), top_p()])
def test_filters_hold_no_state_and_follow_the_protocol(made: InstanceFilter) -> None:
    assert isinstance(made, InstanceFilter)
    assert made.state_dict() == {}
    made.load_state_dict({})
    groups = with_std(0.1, 0.4)
    assert made.admit(groups) == made.admit(groups)


@pytest.mark.parametrize(
    ("config", "values"),
    [
        (RewardStdConfig, {"fraction": 0.0}),
        (RewardStdConfig, {"fraction": 1.5}),
        (RewardStdConfig, {"metric": "reward"}),
        (TopPConfig, {"p": 0}),
        (TopPConfig, {"eps": -1}),
        (TopPConfig, {"members": "searched"}),
    ],
)
def test_values_out_of_range_are_refused(config: Any, values: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=next(iter(values))):
        config.model_validate(values)
