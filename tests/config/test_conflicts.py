"""What no single key shows: parts of a run that do not fit each other."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from tsrflow.config.base import EnvConfig, ForkCapability
from tsrflow.config.schema import RunConfig, parse
from tsrflow.errors import ConfigError


class OneWayConfig(EnvConfig):
    """An environment whose episodes cannot be copied."""

    name: Literal["one_way"] = "one_way"

    @property
    def fork_capability(self) -> ForkCapability:
        return "none"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            {"env": OneWayConfig(), "search": "beam"},
            "search=beam: continues a prefix several times, but env=one_way cannot be forked",
        ),
        (
            {"env": OneWayConfig(), "search": "lookahead"},
            "search=lookahead: continues a prefix several times, but env=one_way cannot be forked",
        ),
        (
            {"rollout": {"mix": 0.3}},
            "rollout.mix=0.3: 2.4 of rollout.group_size=8 trajectories would be plain rollouts; "
            "their product must be whole",
        ),
        (
            {"rollout": {"group_size": 10, "keep": 2}},
            "rollout.keep=2: does not divide the 5 searched trajectories of a group "
            "(rollout.group_size=10, rollout.mix=0.5)",
        ),
        ({"rollout": {"keep": 4}}, "rollout.keep=4: search=beam returns at most 2 per search"),
        ({"search": "naive", "rollout": {"keep": 2}}, "rollout.keep=2: search=naive returns at most 1 per search"),
        (
            {"search": "lookahead", "rollout": {"keep": 2}},
            "rollout.keep=2: search=lookahead returns at most 1 per search",
        ),
        (
            {"search": {"name": "bon", "n": 2}, "rollout": {"keep": 4}},
            "rollout.keep=4: search=bon returns at most 2 per search",
        ),
        (
            {"search": {"width": 17, "candidates": 2}, "env": {"max_turns": 4}},
            "search.width=17: can never be filled, search.candidates=2 gives at most 16 prefixes in env.max_turns=4",
        ),
        *[
            (
                {"search": "naive", "optimizer": name, "rollout": {"group_size": 1}},
                f"rollout.group_size=1: optimizer={name} compares the trajectories of a group; must be int >= 2, or use "
                "optimizer=ppo or optimizer=reinforce_pp",
            )
            for name in ("grpo", "dr_grpo", "dapo", "rloo", "gspo", "gigpo")
        ],
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
def test_conflict_is_one_message_that_names_the_keys(data: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(data)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "data",
    [
        {"env": OneWayConfig(), "search": "naive"},
        {"env": OneWayConfig(), "search": {"name": "bon", "n": 1}},
        {"rollout": {"mix": 0.25}},
        {"rollout": {"mix": 0.0}},
        {"rollout": {"mix": 1.0}},
        {"rollout": {"mix": 0.5, "keep": 2}},
        {"search": {"name": "bon", "scope": "group"}, "rollout": {"keep": 4}},
        {"search": {"width": 16, "candidates": 2}, "env": {"max_turns": 4}},
        {"search": "naive", "rollout": {"mix": 0.3}},
        {"search": "naive", "optimizer": "ppo", "rollout": {"group_size": 1}},
        {"search": "naive", "optimizer": "reinforce_pp", "rollout": {"group_size": 1}},
        {"rollout": {"group_size": 10, "mix": 0.3}},
    ],
    ids=str,
)
def test_what_fits_is_accepted(data: dict[str, Any]) -> None:
    assert isinstance(parse(data), RunConfig)


def test_all_conflicts_are_reported_together() -> None:
    with pytest.raises(ConfigError) as caught:
        parse({"rollout": {"mix": 0.3}, "search": {"width": 2000}, "env": {"max_turns": 2}})
    keys = [line.split(":")[0] for line in str(caught.value).splitlines()]
    assert keys == ["search.width=2000", "rollout.mix=0.3"]
