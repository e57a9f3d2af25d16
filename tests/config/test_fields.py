"""How fields are described to people."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from tsrflow.config.base import ConfigModel
from tsrflow.config.fields import accepts, bounds, did_you_mean, keys_of, show


class Inner(ConfigModel):
    """Nested."""

    depth: int = 1


class Sample(ConfigModel):
    """One field of every sort."""

    plain: int = 0
    ranged: float = Field(default=0.5, gt=0, le=1)
    choice: Literal["a", "b"] = "a"
    optional: int | None = Field(default=None, ge=1)
    either: Annotated[int, Field(ge=1)] | Literal["auto"] = "auto"
    flag: bool = False
    text: str = ""
    pair: tuple[float, float] = (0.0, 1.0)
    many: tuple[int, ...] = ()
    inner: Inner = Inner()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("plain", "int"),
        ("ranged", "float > 0 and <= 1"),
        ("choice", "a|b"),
        ("optional", "int >= 1 or null"),
        ("either", "int >= 1 or auto"),
        ("flag", "true|false"),
        ("text", "text"),
        ("pair", "[float,float]"),
        ("many", "[int,…]"),
        ("inner", "a mapping of settings"),
    ],
)
def test_accepts(name: str, expected: str) -> None:
    assert accepts(Sample.model_fields[name]) == expected


def test_bounds_are_empty_without_a_range() -> None:
    assert bounds(Sample.model_fields["plain"]) == ""


def test_keys_include_nested_ones() -> None:
    assert keys_of(Sample, "s.")[-2:] == ["s.many", "s.inner.depth"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [(None, "null"), (True, "true"), (0.1, "0.1"), ("x", "x"), ([1, None], "[1,null]"), ({"a": False}, "{a:false}")],
)
def test_values_are_shown_as_typed(value: Any, expected: str) -> None:
    assert show(value) == expected


def test_nearest_key_prefers_the_same_last_name() -> None:
    known = ["rollout.tasks", "eval.tasks", "eval.task_seed", "seed"]
    assert did_you_mean("tasks", known) == "; did you mean 'rollout.tasks' or 'eval.tasks'?"
    assert did_you_mean("rollout.tasx", known) == "; did you mean 'rollout.tasks'?"
    assert did_you_mean("tasx", known) == "; did you mean 'rollout.tasks'?"
    assert did_you_mean("nothing.like.it", known) == ""
