"""Messages: the key as typed, the value, what is allowed, the nearest name."""

from __future__ import annotations

from typing import Any

import pytest

from tsrflow.config.schema import parse
from tsrflow.errors import ConfigError


def message(data: dict[str, Any]) -> str:
    with pytest.raises(ConfigError) as caught:
        parse(data)
    return str(caught.value)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"rollout": {"tasks": 0}}, "rollout.tasks=0: must be >= 1"),
        ({"rollout": {"tasks": "many"}}, "rollout.tasks=many: must be int >= 1"),
        ({"rollout": {"tasks": 2.5}}, "rollout.tasks=2.5: must be int >= 1"),
        ({"rollout": {"tasks": True}}, "rollout.tasks=true: must be int >= 1"),
        ({"rollout": {"tasks": None}}, "rollout.tasks=null: must be int >= 1"),
        ({"rollout": {"mix": 1.5}}, "rollout.mix=1.5: must be >= 0 and <= 1"),
        ({"rollout": {"discount": 0}}, "rollout.discount=0: must be > 0 and <= 1"),
        ({"rollout": {"honest_draws": 0}}, "rollout.honest_draws=0: must be >= 1"),
        ({"rollout": {"format_penalty": -1}}, "rollout.format_penalty=-1: must be >= 0"),
        ({"rollout": {"think": "maybe"}}, "rollout.think=maybe: must be true|false"),
        (
            {"rollout": {"fork": "honst"}},
            "rollout.fork=honst: must be auto|commit|honest|clairvoyant; did you mean 'honest'?",
        ),
        ({"optimizer": {"lr": -1}}, "optimizer.lr=-1: must be >= 0"),
        (
            {"optimizer": {"betas": [0.9, "x"]}},
            "optimizer.betas=[0.9,x]: must be [float >= 0 and < 1,float >= 0 and < 1]",
        ),
        (
            {"optimizer": {"betas": [0.9, 1.0]}},
            "optimizer.betas=[0.9,1.0]: must be [float >= 0 and < 1,float >= 0 and < 1]",
        ),
        (
            {"optimizer": {"name": "dapo", "overlong": 9, "max_length": 8}},
            "optimizer.overlong: 9 is more than optimizer.max_length=8",
        ),
        ({"trainer": {"devices": 0}}, "trainer.devices=0: must be int >= 1 or auto"),
        ({"trainer": {"devices": "all"}}, "trainer.devices=all: must be int >= 1 or auto"),
        ({"trainer": {"threads": 0}}, "trainer.threads=0: must be >= 1"),
        (
            {"trainer": {"accelerator": "gpus"}},
            "trainer.accelerator=gpus: must be auto|cpu|gpu|cuda|mps|tpu; did you mean 'gpu'?",
        ),
        ({"eval": {"temperature": -0.1}}, "eval.temperature=-0.1: must be >= 0"),
        ({"resume": "yes"}, "resume=yes: must be auto|never|restart"),
        ({"search": "beem"}, "search=beem: no such search; known: beam, bon, lookahead, naive; did you mean 'beam'?"),
        ({"search": 3}, "search=3: must be a mapping of settings"),
        ({"rollout": 3}, "rollout=3: must be a mapping of settings"),
        ({"model": "pretrained"}, "model.path: required and has no default (Local folder; nothing is downloaded.)"),
        (
            {"search": {"wdth": 3}},
            "search.wdth=3: no such key; search=beam has width, candidates; did you mean 'search.width'?",
        ),
        (
            {"search": {"name": "naive", "width": 3}},
            "search.width=3: no such key; search=naive has no settings",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_single_problem(data: dict[str, Any], expected: str) -> None:
    assert message(data) == expected


def test_unknown_section_key_lists_the_section() -> None:
    text = message({"eval": {"task": 3}})
    assert text == "eval.task=3: no such key; eval has tasks, every, temperature, split; did you mean 'eval.tasks'?"


def test_unknown_top_level_key_points_to_the_sections_that_have_it() -> None:
    assert message({"tasks": 3}).endswith("; did you mean 'rollout.tasks' or 'eval.tasks'?")
    assert message({"sead": 3}).endswith("; did you mean 'seed'?")
    assert message({"bogus": {"key": 1}}).startswith("bogus={key:1}: no such key; there are env, search, ")


def test_every_problem_is_reported_in_one_go() -> None:
    text = message(
        {"search": {"name": "beam", "width": 0}, "rollout": {"tasks": 0, "tasx": 1}, "seed": -1, "model": "tinny"}
    )
    assert [line.split(":")[0] for line in text.splitlines()] == [
        "search.width=0",
        "model=tinny",
        "rollout.tasks=0",
        "rollout.tasx=1",
        "seed=-1",
    ]


def test_a_union_gives_one_line_not_one_per_member() -> None:
    assert len(message({"trainer": {"devices": [1]}}).splitlines()) == 1
