"""Behaviours of the original that a policy could exploit: kept and counted, or mended."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.components.envs.webshop import shop
from tests.components.envs.webshop.shop import play
from tsrflow.components.envs.webshop.env import WebShop


def opened(folder: Path, quirks: str) -> WebShop:
    env = shop.open_shop(folder, quirks=quirks)
    shop.start_for(env, "B0RED")
    return env


def found(env: WebShop) -> list[str]:
    return [env.world.products[place].asin for place in env.session.hits]


@pytest.mark.parametrize(
    ("query", "asins"), [("<q> Mugs", ["B0RED", "B0BLUE"]), ("<c> food", ["B0TEA"]), ("<q> none", []), ("<q>", [])]
)
def test_hidden_keywords_bypass_the_search_in_the_faithful_mode_only(
    query: str, asins: list[str], folder: Path
) -> None:
    faithful, mended = opened(folder, "faithful"), opened(folder, "mended")
    info = play(faithful, f"search[{query}]")
    assert found(faithful) == asins
    assert info["quirks"]["hidden_keyword"] == 1
    info = play(faithful, "click[next >]")
    assert info["quirks"]["hidden_keyword"] == 2
    before = mended.session
    assert mended.step(f"search[{query}]")[4]["invalid"]
    assert mended.session == before


@pytest.mark.parametrize("query", ["<a> hand made", "<c>", "<r>"])
def test_where_the_original_crashes_nothing_happens(query: str, folder: Path) -> None:
    env = opened(folder, "faithful")  # <r> needs fifty products
    before, hashed = env.session, env.state_hash()
    *_, terminated, truncated, info = env.step(f"search[{query}]")
    assert info["invalid"] and not terminated and not truncated
    assert (env.session, env.state_hash()) == (before, hashed)


def test_random_products_differ_from_page_to_page_but_not_from_run_to_run(tmp_path: Path) -> None:
    items = [shop.item(f"B{i:03}", f"Mug {i}") for i in range(80)]
    folder = shop.write(tmp_path, items=[*items, *shop.ITEMS])
    env = opened(folder, "faithful")
    play(env, "search[<r>]")
    first, state = env.session.hits, env.state_hash()
    play(env, "click[next >]")
    assert len(first) == len(env.session.hits) == 50
    assert first != env.session.hits
    again = opened(folder, "faithful")
    play(again, "search[<r>]")
    assert (again.session.hits, again.state_hash()) == (first, state)


def test_shopping_on_after_buying_pays_again_in_the_faithful_mode_only(folder: Path) -> None:
    faithful, mended = opened(folder, "faithful"), opened(folder, "mended")
    way = ("search[red mug]", "click[b0red]", "click[red]", "click[buy now]")
    for env in (faithful, mended):
        assert play(env, *way)["success"]
        assert env.legal_actions() == ()
        assert env.step("click[buy now]")[4]["invalid"]
        assert env.step("click[back to search]")[4]["invalid"]
    info = play(faithful, *way)
    assert info["success"]
    assert info["quirks"]["after_done"] == 1
    before = mended.session
    _, gained, terminated, _, info = mended.step("search[red mug]")
    assert (gained, terminated, info["success"], info["invalid"]) == (0.0, False, False, True)
    assert mended.session == before


@pytest.mark.parametrize(
    ("words", "way", "page", "number"),
    [
        ("search_results", ("click[b0red]", "click[< prev]"), "results", 0),
        ("item_page", ("click[b0red]", "click[features]", "click[< prev]"), "results", 1),
    ],
)
def test_words_of_an_address_confuse_the_faithful_mode_only(
    words: str, way: tuple[str, ...], page: str, number: int, folder: Path
) -> None:
    faithful, mended = opened(folder, "faithful"), opened(folder, "mended")
    info = play(faithful, f"search[{words} red mug]", *way)
    assert (faithful.session.page, faithful.session.number) == (page, number)
    assert info["quirks"]["address_confusion"] == 1
    info = play(mended, f"search[{words} red mug]", *way)
    assert mended.session.page == ("item" if "features" in way[1] else "results")
    assert mended.session.number == 1
    assert not any(info["quirks"].values())


def test_counts_start_anew_with_each_episode(folder: Path) -> None:
    env = opened(folder, "faithful")
    play(env, "search[<q> mugs]", "click[back to search]")
    assert env.session.quirks.hidden_keyword == 1
    _, info = env.reset(env.task("train", 0))
    assert not any(info["quirks"].values())
