"""Actions are read as the original reads them."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsrflow.components.envs.webshop.grammar import MAX_ACTION, canonical, split_action


def reference(text: str) -> tuple[str, str] | None:
    """The pattern that the original uses, as its documentation states it."""
    match = re.match(r"(.+)\[(.+)\]", text)
    return None if match is None else (match.group(1), match.group(2).lower())


@given(st.text(alphabet="ab[] \nC<", max_size=30))
def test_reading_equals_the_original_pattern(text: str) -> None:
    assert split_action(text) == reference(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("search[Red Mug]", "search[red mug]"),
        ("search[red mug] please", "search[red mug]"),
        ("click[Buy Now]", "click[buy now]"),
        ("search[a]b]", "search[a]b]"),
        ("search[ spaced ]", "search[ spaced ]"),
        ("search[]", None),
        ("search[red\nmug]", None),
        ("Search[red]", None),
        (" search[red]", None),
        ("search [red]", None),
        ("search[a[b]]", None),
        ("think[red]", None),
        ("buy now", None),
        ("", None),
    ],
)
def test_only_search_and_click_are_actions(text: str, expected: str | None) -> None:
    assert canonical(text, mended=False) == expected
    assert canonical(text, mended=True) == expected


@pytest.mark.parametrize("query", ["<r>", "<q> mugs", "<b>mug</b>", "<script>alert(1)</script>", "a\x00b", "tab\there"])
def test_markup_and_control_characters_are_queries_only_in_the_faithful_mode(query: str) -> None:
    assert canonical(f"search[{query}]", mended=True) is None
    assert canonical(f"search[{query}]", mended=False) == f"search[{query}]"


@pytest.mark.parametrize("query", ["mug < 5 dollars", "3 > 2", "a <3 b", "size 10<x"])
def test_comparison_signs_are_not_markup(query: str) -> None:
    assert canonical(f"search[{query}]", mended=True) is not None


@pytest.mark.parametrize("text", ["[" * 10**6, "search[" + "a" * 10**6 + "]", "]" * 10**6, "x[" * 500_000])
def test_a_megabyte_is_refused_at_once(text: str) -> None:
    began = time.perf_counter()
    assert len(text) > MAX_ACTION
    assert canonical(text, mended=False) is None
    assert time.perf_counter() - began < 0.1


@pytest.mark.parametrize("unit", ["[", "]", "<a", "a[", "<", "[]", "a_", "1,", "'s "])
def test_the_longest_actions_are_read_in_linear_time(unit: str) -> None:
    text = f"search[{unit * (MAX_ACTION // len(unit) - 8)}]"
    began = time.perf_counter()
    canonical(text, mended=True)
    assert time.perf_counter() - began < 0.1
