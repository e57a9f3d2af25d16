"""Observations of every supported space as text; pictures without losing what colours say."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st

from tsrflow.components.envs.gymnasium.text import MAX_NUMBERS, describe, picture, say, unreadable

BOX = spaces.Box(-np.inf, np.inf, (3,), np.float32)


@pytest.mark.parametrize(
    ("space", "value", "text", "description"),
    [
        (spaces.Discrete(7, start=-2), np.int64(-1), "-1", "a number from -2 to 4"),
        (BOX, np.array([1.23456, -0.0001, np.inf], np.float32), "1.23 0.00 inf", "3 numbers"),
        (spaces.Box(0.0, 1.0, ()), np.array(0.125, np.float32), "0.12", "a number"),
        (spaces.Box(0, 9, (2, 2), np.int64), np.array([[1, 2], [3, 4]]), "1 2\n3 4", "2 rows of 2 numbers"),
        (spaces.MultiDiscrete([3, 9]), np.array([2, 8]), "2 8", "2 numbers"),
        (spaces.MultiBinary(3), np.array([1, 0, 1], np.int8), "1 0 1", "3 numbers"),
        (spaces.Text(9), "go on", "go on", "text"),
        (spaces.Tuple([spaces.Discrete(32), spaces.Discrete(2)]), (14, 0), "14, 0", "a number from 0 to 31, a number from 0 to 1"),
        (spaces.Dict(a=BOX, b=spaces.Discrete(2)), {"a": np.zeros(3, np.float32), "b": 1}, "a: 0.00 0.00 0.00; b: 1", "a: 3 numbers; b: a number from 0 to 1"),
        (spaces.Dict(a=spaces.Box(0, 9, (2, 2), np.int64), b=spaces.Text(9)), {"a": np.zeros((2, 2), int), "b": "x"}, "a: 0 0\n0 0\nb: x", "a: 2 rows of 2 numbers; b: text"),
    ],
)  # fmt: skip
def test_an_observation_in_words(space: Any, value: Any, text: str, description: str) -> None:
    assert say(value, space, 2) == text
    assert not unreadable(space)
    assert describe(space) == description


@given(st.floats(-1e6, 1e6, width=32), st.integers(0, 6))
def test_numbers_are_rounded_and_have_no_negative_zero(value: float, digits: int) -> None:
    text = say(np.float32(value), spaces.Box(-np.inf, np.inf, ()), digits)
    assert abs(float(text) - float(np.float32(value))) <= 0.5 * 10.0**-digits + 1e-9
    assert not (text.startswith("-") and float(text) == 0.0)
    assert len(text.partition(".")[2]) == digits


@pytest.mark.parametrize(
    ("space", "reason"),
    [
        (spaces.Box(0, 255, (64, 64, 3), np.uint8), f"12288 numbers is too long to read .at most {MAX_NUMBERS}."),
        (spaces.Tuple([spaces.Discrete(2), spaces.MultiBinary(5000)]), "5000 numbers"),
        (spaces.Dict(x=spaces.Sequence(spaces.Discrete(2))), "Sequence.* have no form in text"),
    ],
)
def test_what_cannot_be_read_is_said(space: Any, reason: str) -> None:
    assert re.search(reason, unreadable(space))


@pytest.mark.parametrize(
    ("drawn", "text"),
    [
        ("  (Left)\n\x1b[41mS\x1b[0mFF\nFHG\n", "  (Left)\nred[S]FF\nFHG"),
        ("|\x1b[34;1mR\x1b[0m:\x1b[43m \x1b[0m|\n\x1b[35mY\x1b[0m\n\n", "|blue[R]:yellow[ ]|\nmagenta[Y]"),
        ("\x1b[1mbold\x1b[0m \x1b[2Jx", "[bold] x"),
        ("\x1b[92mok\x1b[m", "green[ok]"),
        ("plain  \n", "plain"),
    ],
)
def test_a_coloured_part_is_marked(drawn: str, text: str) -> None:
    assert picture(drawn) == text
