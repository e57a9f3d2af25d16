"""The reward and its parts, on products made for it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.components.envs.webshop import shop
from tsrflow.components.envs.webshop.fuzzy import COLOR_WORDS, normalize_color, option_matches, score
from tsrflow.components.envs.webshop.goals import Goal
from tsrflow.components.envs.webshop.nouns import by_rule, from_table
from tsrflow.components.envs.webshop.records import Product, product_from_record
from tsrflow.components.envs.webshop.reward import ProductMatch, TypeMatch, count_attributes, match_type, reward

RED: Product = product_from_record(shop.RED, shop.INSTRUCTIONS["B0RED"], [])
GOAL = Goal("", "B0RED", "Red Enamel Mug", "mugs", "Home › Kitchen › Mugs", ("hand made",), ("red", "small"), 20.0)
SAME = TypeMatch(1.0, True, True, 1.0)


@pytest.mark.parametrize(
    ("attributes", "chosen", "price", "r_type", "value"),
    [
        (1, ("red", "small"), True, 1.0, 1.0),
        (1, ("red", "large"), True, 1.0, 0.75),
        (0, ("red", "small"), True, 1.0, 0.75),
        (1, ("red", "small"), False, 1.0, 0.75),
        (0, (), False, 1.0, 0.0),
        (1, ("red", "small"), True, 0.5, 0.5),
        (1, ("red", "small"), True, 0.0, 0.0),
    ],
)
def test_value_is_the_satisfied_share_times_the_type(
    attributes: int, chosen: tuple[str, ...], price: bool, r_type: float, value: float
) -> None:
    match = ProductMatch(replace(SAME, r_type=r_type), attributes, price)
    bought = reward(GOAL, match, chosen)
    assert bought.value == value
    parts = bought.parts()
    weighted = sum(parts[f"r_{name}"] * parts[f"w_{name}"] for name in ("att", "option", "price"))
    assert weighted * parts["r_type"] == pytest.approx(value)


def test_a_goal_without_options_has_no_option_part() -> None:
    parts = reward(replace(GOAL, options=()), ProductMatch(SAME, 1, True), ()).parts()
    assert "r_option" not in parts and "w_option" not in parts
    assert parts["w_att"] + parts["w_price"] == 1


@pytest.mark.parametrize(
    ("query", "category", "nouns", "wanted", "r_type"),
    [
        ("mugs", "x", ["red", "mug"], ["red", "mug"], 1.0),
        ("mugs", "x", ["tea"], ["mug"], 0.0),  # no common noun overrides the query
        ("cups", "Kitchen › Home", ["mug"], ["mug", "a", "b", "c", "d"], 1.0),
        ("cups", "x", ["mug"], ["mug", "a", "b"], 1.0),
        ("cups", "Home", ["mug"], ["mug", "a", "b", "c", "d"], 0.5),
        ("cups", "Home", ["mug"], ["mug", *"abcdefghij"], 0.1),
        ("cups", "Home", [], [], 0.5),  # without any noun the score counts as 0.2
        ("mugs", "Home", ["mug"], [], 1.0),
        ("cups", "x", ["mug"], ["mug", "mug", "mug", "mug", "mug"], 0.5),  # repeats count below the line only
    ],
)
def test_type_by_query_category_and_nouns(
    query: str, category: str, nouns: list[str], wanted: list[str], r_type: float
) -> None:
    bought = replace(RED, query=query, product_category=category)
    assert match_type(bought, GOAL, nouns, wanted).r_type == r_type


@pytest.mark.parametrize(
    ("wanted", "count"),
    [
        (("hand made",), 1),
        (("made by hand",), 1),  # one set of words contains the other
        (("hand wash",), 0),
        (("handmade",), 1),
        (("enamel",), 1),  # in the title
        (("second point",), 1),  # in the bullets
        (("plain and",), 1),  # in the description
        (("Enamel",), 0),  # a goal's attribute is not lower-cased
        (("hand made", "gold"), 1),
        (("", "x"), 1),
    ],
)
def test_attributes_match_by_name_or_text(wanted: tuple[str, ...], count: int) -> None:
    assert count_attributes(RED, wanted) == count


@pytest.mark.parametrize(
    ("value", "wanted", "matches"),
    [
        ("dark red", "dark green", True),
        ("sky blue", "navy blue", True),
        ("red", "blue", False),
        ("large", "x-large", True),
        ("standard", "tan", True),
        ("dark red", ("color", "red"), False),
        ("red", ("color", "red"), True),
        ("x-large", ("size", "x-large"), True),
        ("small", ("size", "large"), False),
    ],
)
def test_options_match_as_loosely_as_in_the_original(value: str, wanted: str | tuple[str, str], matches: bool) -> None:
    assert option_matches(value, wanted) is matches


def test_scores_round_before_they_are_compared() -> None:
    assert score("mug\u00e9", "mug") == 100, "Latin-1 characters go"
    assert score("A-B", "a b") == 100
    assert score("", "") == 0
    assert isinstance(score("mug", "mud"), int)


@given(st.text(max_size=20))
def test_a_colour_word_stands_for_the_value_it_is_in(value: str) -> None:
    found = normalize_color(value)
    assert found == value or (found in COLOR_WORDS and found in value)


def test_nouns_by_rule_and_by_table() -> None:
    assert by_rule("The 2 pcs of Red Mugs, 12 oz for Tea (A4)") == ("red", "mugs", "tea", "a4")
    table = from_table({"Red Mugs": ("mugs",)})
    assert table("Red Mugs") == ("mugs",)
    assert table("Blue Mugs") == ("blue", "mugs")
