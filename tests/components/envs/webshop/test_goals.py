"""Goals: prices, limits, the fixed shuffle, and splits that never overlap."""

from __future__ import annotations

import random
from itertools import product as nested_loops
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.components.envs.webshop import shop
from tsrflow.components.envs.webshop.files import locate
from tsrflow.components.envs.webshop.goals import NO_LIMIT, GoalTable, build_table, split_range, summarise
from tsrflow.components.envs.webshop.records import Product
from tsrflow.components.envs.webshop.store import read_products
from tsrflow.errors import ConfigError


def products(folder: Path) -> list[Product]:
    return list(read_products(locate(str(folder))))


@pytest.fixture
def mugs(folder: Path) -> list[Product]:
    return products(folder)


def texts(table: GoalTable, of: list[Product]) -> list[str]:
    return [table.goal(number, of).text for number in range(len(table))]


def test_human_goals_are_instructions_that_name_an_attribute(mugs: list[Product]) -> None:
    table = build_table("human", summarise(mugs), seed=3)
    goals = sorted((table.goal(n, mugs) for n in range(len(table))), key=lambda goal: goal.asin)
    assert [goal.asin for goal in goals] == ["B0BLUE", "B0RED", "B0TEA"]
    assert goals[1].text.startswith("i want a hand made mug in red, and price lower than ")
    assert goals[0].text.startswith("a hand made mug, and")
    assert goals[1].options == ("red",)


def test_synthetic_goals_are_all_option_combinations_in_nested_order(mugs: list[Product]) -> None:
    table = build_table("synthetic", summarise(mugs), seed=3)
    unshuffled = np.argsort([(p, v) for p, v in zip(table.product, table.variant, strict=True)], axis=0)[:, 1]
    pairs = [table.goal(int(n), mugs).options for n in unshuffled if table.goal(int(n), mugs).asin == "B0RED"]
    expected = [
        (("color", color), ("size", size)) for color, size in nested_loops(("red", "blue | green"), ("small", "large"))
    ]
    assert sorted(pairs) == sorted(expected)
    assert len(table) == 5  # four for the red mug, one for the blue one, none for the tea
    text = next(t for t in texts(table, mugs) if "blue | green" in t and "small" in t)
    assert text.startswith("Find me dishwasher safe mugs with color: blue | green, and size: small, and price lower")


@pytest.mark.parametrize("kind", ["human", "synthetic"])
def test_the_same_seed_gives_the_same_goals(kind: str, mugs: list[Product]) -> None:
    summary = summarise(mugs)
    first, again, other = (build_table(kind, summary, seed) for seed in (1, 1, 2))  # type: ignore[arg-type]
    assert texts(first, mugs) == texts(again, mugs)
    assert np.array_equal(first.product, other.product), "the order does not depend on the seed"
    assert not np.array_equal(first.prices, other.prices)


def test_a_limit_always_leaves_room_for_the_target(mugs: list[Product]) -> None:
    for seed in range(50):
        table = build_table("synthetic", summarise(mugs), seed)
        for price, limit in zip(table.prices[table.product], table.limit, strict=True):
            assert price < limit <= price + 50
            assert limit % 10 == 0
        assert 80 <= table.prices[1] <= 90.5


@pytest.mark.parametrize(("pricing", "limited"), [("$969", True), ("$979.99", True), ("$980", False), ("$5000", False)])
def test_very_dear_products_have_no_limit(pricing: str, limited: bool, tmp_path: Path) -> None:
    dear = products(shop.write(tmp_path, items=[shop.RED | {"pricing": pricing}]))
    table = build_table("human", summarise(dear), 0)
    assert (table.limit[0] != NO_LIMIT) == limited
    assert ("price lower" in table.goal(0, dear).text) == limited


def test_a_range_of_equal_prices_is_drawn_from_too(tmp_path: Path) -> None:
    later: list[float] = []
    for name, pricing in (("one", "$5"), ("range", "$5 - $5")):
        items = [shop.TEA | {"pricing": pricing}, shop.BLUE]
        table = build_table("human", summarise(products(shop.write(tmp_path / name, items=items))), 0)
        assert table.prices[0] == 5.0
        later.append(float(table.prices[1]))
    assert later[0] != later[1], "the original draws for every range, so what follows is drawn later"


def test_drawing_touches_no_global_generator(mugs: list[Product]) -> None:
    random.seed(5)
    before = random.getstate()
    build_table("human", summarise(mugs), 0)
    assert random.getstate() == before


def test_splits_are_the_published_ranges() -> None:
    assert split_range(12087, "test") == range(500)
    assert split_range(12087, "validation") == range(500, 1500)
    assert split_range(12087, "train") == range(1500, 12087)


@given(st.integers(3, 20_000))
def test_splits_cover_all_goals_once(count: int) -> None:
    parts = [split_range(count, split) for split in ("test", "validation", "train")]
    assert [n for part in parts for n in part] == list(range(count))
    assert parts[2], "there is always something to train on"


def test_tasks_wrap_in_training_only(folder: Path) -> None:
    env = shop.open_shop(folder, goals="synthetic")
    train, validation = split_range(5, "train"), split_range(5, "validation")
    assert env.task("train", 0) == env.task("train", len(train)).__class__(
        "webshop", "train", 0, env.task("train", len(train)).seed
    )
    with pytest.raises(IndexError, match="validation split has"):
        env.task("validation", len(validation))
    for split in ("train", "validation", "test"):
        with pytest.raises(IndexError):
            env.task(split, -1)  # type: ignore[arg-type]


def test_too_few_goals_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"env\.goals=human: .* only 0 human goals"):
        shop.open_shop(shop.write(tmp_path, human={}))
