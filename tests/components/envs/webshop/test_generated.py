"""The generated catalogue: large enough, the same everywhere, and every part of the reward matters in it."""

from __future__ import annotations

import hashlib
import statistics
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path

import pytest

from tsrflow.components.envs.webshop import invent
from tsrflow.components.envs.webshop.__main__ import main
from tsrflow.components.envs.webshop.config import WebShopConfig
from tsrflow.components.envs.webshop.env import WebShop
from tsrflow.components.envs.webshop.fuzzy import option_matches
from tsrflow.components.envs.webshop.invent_words import OPTION_VALUES
from tsrflow.components.envs.webshop.observe import queries
from tsrflow.components.envs.webshop.reward import reward
from tsrflow.types import Split

Pick = Callable[[WebShop, Sequence[int]], int]


@pytest.fixture(scope="module")
def env() -> WebShop:
    return WebShop(WebShopConfig(observation="text"))


def test_it_is_large_and_varied(env: WebShop) -> None:
    products = env.world.products
    assert len(products) >= 1000
    assert len({product.category for product in products}) >= 8
    assert len({product.query for product in products}) == 60
    assert len({product.asin for product in products}) == len(products)
    assert len(env.world.table) >= 3000
    assert env.world.table.kind == "human"
    with_options = statistics.mean(bool(product.options) for product in products)
    assert 0.7 < with_options < 0.95
    assert any(len(product.pricing) == 2 for product in products)


def test_it_is_the_same_on_every_machine() -> None:
    content = repr(invent.products()).encode()
    assert hashlib.blake2b(content, digest_size=8).hexdigest() == "d67cc706e4500961"


def test_no_request_is_made_twice_so_splits_share_none(env: WebShop) -> None:
    texts: dict[Split, set[str]] = {}
    for split in ("train", "validation", "test"):
        tasks = [env.task(split, index) for index in range(500)]  # type: ignore[arg-type]
        texts[split] = {env.reset(task)[0].split(", and price")[0] for task in tasks}  # type: ignore[index]
        assert len(texts[split]) == 500  # type: ignore[index]
    for one, other in combinations(texts.values(), 2):
        assert not one & other


def test_every_goal_can_be_reached(env: WebShop) -> None:
    for number in range(len(env.world.table)):
        goal, target = env.world.goal(number), int(env.world.table.product[number])
        offered = {value for _, values in env.world.products[target].options for value in values}
        wanted = [value for value in goal.options if isinstance(value, str)]
        assert set(wanted) <= offered
        assert reward(goal, env.world.match(goal, target), wanted).value == 1.0


def test_every_attribute_can_be_read_somewhere(env: WebShop) -> None:
    for product in env.world.products:
        texts = " ".join((product.title, product.description, *product.bullets)).lower()
        assert all(attribute in texts for attribute in product.attributes)


def test_values_of_one_group_are_told_apart() -> None:
    for values in OPTION_VALUES.values():
        for one, other in combinations(values.split(", "), 2):
            assert not option_matches(one, other), (one, other)


def shop_by(env: WebShop, words: int, pick: Pick, choose: bool, goals: Sequence[int]) -> float:
    """Success of a fixed way of shopping: which suggested query, which result, and whether options are chosen."""
    won = []
    for number in goals:
        env.start(number)
        asked = env.world.goal(number)
        suggested = queries(asked.text)
        env.step(f"search[{suggested[min(words, len(suggested) - 1)] if words >= 0 else suggested[-1]}]")
        listed = env.session.listed(10)
        if not listed:
            won.append(False)
            continue
        product = env.world.products[pick(env, listed)]
        env.step(f"click[{product.asin.lower()}]")
        for _, values in product.options if choose else ():
            for value in values:
                if value in asked.text:
                    env.step(f"click[{value}]")
        won.append(env.step("click[buy now]")[4]["success"])
    return statistics.mean(won)


def first(env: WebShop, listed: Sequence[int]) -> int:
    return listed[0]


def affordable(env: WebShop, listed: Sequence[int]) -> int:
    limit = env.world.goal(env.session.goal).price_upper
    return next((place for place in listed if env.world.table.prices[place] <= limit), listed[0])


def test_search_options_and_price_all_matter(env: WebShop) -> None:
    goals = range(0, 3600, 9)
    careful = shop_by(env, -1, affordable, True, goals)
    assert careful > 0.85
    assert shop_by(env, 0, affordable, True, goals) < careful - 0.4, "a vague search is not enough"
    assert shop_by(env, -1, affordable, False, goals) < careful - 0.4, "options must be chosen"
    assert shop_by(env, -1, first, True, goals) < careful - 0.05, "the price must be looked at"


def test_queries_come_from_the_words_of_the_instruction() -> None:
    text = (
        "i am looking for a desk pad that is spill proof and dotted paper, in green, and price lower than 60.00 dollars"
    )
    assert queries(text) == [
        "desk pad",
        "desk pad spill proof",
        "desk pad dotted paper",
        "desk pad spill proof dotted paper green",
    ]
    assert queries("") == []
    assert queries("tea") == ["tea"]


def test_written_to_disk_it_is_the_same_shop(env: WebShop, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main_with("--write", str(tmp_path / "data")) == 0
    assert main_with(str(tmp_path / "data"), "--cache", str(tmp_path / "cache")) == 0
    assert "bytes per product" in capsys.readouterr().out
    loaded = WebShop(
        WebShopConfig(data=str(tmp_path / "data"), cache=str(tmp_path / "cache"), observation="text", nouns="rule")
    )
    assert list(loaded.world.products) == list(env.world.products)
    for index in range(20):
        for shop in (env, loaded):
            shop.start(index)
        assert loaded.step("search[desk pad green]")[0] == env.step("search[desk pad green]")[0]


def main_with(*arguments: str) -> int:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["webshop", *arguments])
        return main()


def test_the_command_says_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main_with(str(tmp_path)) == 2
    assert capsys.readouterr().err.startswith("tsrflow: env.data=")
