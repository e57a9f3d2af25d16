"""Pages as a function of product and session: order, white space, labels, what is marked as clicked."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.components.envs.webshop import shop
from tests.components.envs.webshop.shop import play
from tsrflow.components.envs.webshop import pages
from tsrflow.components.envs.webshop.env import WebShop

GOAL = "i want a hand made mug in red, and price lower than "


def text(env: WebShop) -> list[str]:
    return pages.plain_text(env.nodes()).split(" [SEP] ")


def rich(env: WebShop) -> str:
    return pages.rich_text(env.nodes(), env.session, env.world, env.rules)


def labels(env: WebShop) -> list[str]:
    return list(pages.clickables(env.nodes()))


def test_the_search_page(env: WebShop) -> None:
    first, second, goal, last = text(env)
    assert (first, second, last) == ("WebShop", "Instruction:", "Search")
    assert goal.startswith(GOAL)
    assert labels(env) == ["search"]


def test_results_list_number_title_and_price(env: WebShop) -> None:
    play(env, "search[enamel mug]")
    assert text(env)[2:] == [
        "Back to Search",
        "Page 1 (Total results: 2)",
        "Next >",
        "B0BLUE",
        "Blue Enamel Mug",
        "$80.0 to $90.5",
        "B0RED",
        "Red Enamel Mug",
        "$12.5",
    ]
    assert labels(env) == ["back to search", "next >", "b0blue", "b0red"]


def test_pages_go_on_for_ever_and_back_to_the_first(env: WebShop) -> None:
    play(env, "search[mug]", "click[next >]", "click[next >]")
    assert text(env)[3:] == ["Page 3 (Total results: 2)", "< Prev", "Next >"]
    play(env, "click[< prev]", "click[< prev]")
    assert labels(env) == ["back to search", "next >", "b0blue", "b0red"] or "b0red" in labels(env)
    assert "< prev" not in labels(env)


def test_page_size_sets_how_many_are_listed(folder: Path) -> None:
    env = shop.open_shop(folder, page_size=1)
    shop.start_for(env, "B0RED")
    play(env, "search[mug]")
    assert len(env.session.listed(1)) == 1
    play(env, "click[next >]")
    assert len(env.session.listed(1)) == 1
    play(env, "click[next >]")
    assert env.session.listed(1) == ()


def test_the_item_page_lists_options_before_the_title(env: WebShop) -> None:
    play(env, "search[red mug]", "click[b0red]")
    assert text(env)[2:] == [
        "Back to Search",
        "< Prev",
        "color",
        "red",
        "blue | green",
        "size",
        "small",
        "large",
        "Red Enamel Mug",
        "Price: $12.5",
        "Rating: N.A.",
        "Description",
        "Features",
        "Reviews",
        "Buy Now",
    ]
    assert labels(env) == [
        *("back to search", "< prev", "description", "features", "reviews", "buy now"),
        *("red", "blue | green", "small", "large"),
    ]


def test_sub_pages_show_their_part_and_keep_the_options(env: WebShop) -> None:
    play(env, "search[red mug]", "click[b0red]", "click[large]", "click[features]")
    assert text(env)[2:] == ["Back to Search", "< Prev", "First point.", "Second point."]
    assert rich(env).endswith("[button] < Prev [button_]\n First point.\n Second point.\n")
    play(env, "click[< prev]", "click[description]")
    assert text(env)[4:] == ["Plain and simple."]
    play(env, "click[< prev]", "click[reviews]")
    assert text(env)[4:] == []
    play(env, "click[< prev]")
    assert env.session.options == (("size", "large"),)


def test_the_attributes_tab_is_hidden_unless_asked_for(folder: Path) -> None:
    hidden, shown = shop.open_shop(folder), shop.open_shop(folder, show_attributes=True)
    for env in (hidden, shown):
        shop.start_for(env, "B0RED")
        play(env, "search[red mug]", "click[b0red]")
    assert hidden.step("click[attributes]")[4]["invalid"]
    play(shown, "click[attributes]")
    assert text(shown)[4:] == ["dishwasher safe", "hand made", "home", "mugs", "Home › Kitchen › Mugs"]


def test_a_later_choice_replaces_an_earlier_one_and_going_back_forgets_all(env: WebShop) -> None:
    play(env, "search[red mug]", "click[b0red]", "click[red]", "click[blue | green]", "click[small]")
    assert env.session.options == (("color", "blue | green"), ("size", "small"))
    play(env, "click[< prev]")
    assert env.session.options == ()
    assert env.session.number == 1


def test_rich_text_marks_what_was_clicked(env: WebShop) -> None:
    play(env, "search[red mug]", "click[b0red]", "click[red]", "click[large]")
    assert rich(env).startswith("You have clicked large.\nYou have clicked red.\nInstruction:\n")
    assert "  [clicked button] red [clicked button_]\n  [button] blue | green [button_]\n" in rich(env)
    play(env, "click[< prev]")
    assert "\n[clicked button] B0RED [clicked button_]\n" in rich(env)
    play(env, "click[back to search]", "search[red mug]")
    assert "\n[button] B0RED [button_]\n" in rich(env)


def test_the_last_page_tells_what_was_bought_and_its_score(env: WebShop) -> None:
    info = play(env, "search[red mug]", "click[b0red]", "click[red]", "click[buy now]")
    assert text(env)[4:9] == ["Purchased", "asin", "B0RED", "options", '{"color": "red"}']
    assert text(env)[-3:] == ["1.0", "Reward Details", "None"]
    assert info["score"] == 1.0
    assert labels(env) == []


SPACES = [
    ("", []),
    (" ", [""]),
    (" \t\r ", [""]),
    (" \n ", []),
    ("\u00a0", [""]),
    ("\u2003", [""]),
    (" text\n\nmore ", ["text\n\nmore"]),
    ("<b>&amp;</b>", ["<b>&amp;</b>"]),
]


@pytest.mark.parametrize(("description", "shown"), SPACES)
def test_white_space_counts_as_in_the_original_parser(description: str, shown: list[str], tmp_path: Path) -> None:
    folder = shop.write(tmp_path, items=[shop.RED | {"full_description": description}, shop.BLUE, shop.TEA])
    env = shop.open_shop(folder)
    shop.start_for(env, "B0RED")
    play(env, "search[red mug]", "click[b0red]", "click[description]")
    assert text(env)[4:] == shown


def odd_shop(folder: Path, quirks: str = "faithful", **groups: list[str]) -> WebShop:
    red = shop.RED | {"customization_options": shop.options(**groups)}
    env = shop.open_shop(shop.write(folder, items=[red, shop.BLUE, shop.TEA]), quirks=quirks)
    shop.start_for(env, "B0RED")
    play(env, "search[red mug]", "click[b0red]")
    return env


def test_an_option_called_like_a_button_acts_as_the_button(tmp_path: Path) -> None:
    env = odd_shop(tmp_path, style=["Reviews", "Buy Now", "Search", "plain"])
    assert labels(env)[4:] == ["reviews", "buy now", "search", "plain"]
    play(env, "click[reviews]")
    assert env.session.page == "sub"
    play(env, "click[< prev]")
    assert env.step("click[search]")[4]["invalid"]
    assert env.step("click[buy now]")[2]


def test_of_equal_values_the_last_group_wins(tmp_path: Path) -> None:
    env = odd_shop(tmp_path, first=["one", "two"], second=["two", "three"])
    assert labels(env)[6:] == ["one", "two", "three"]
    play(env, "click[two]")
    assert env.session.options == (("second", "two"),)


def test_faithful_pages_mark_by_address_and_mended_ones_by_state(tmp_path: Path) -> None:
    faithful = odd_shop(tmp_path / "a", first=["crème", "two"], second=["two"])
    mended = odd_shop(tmp_path / "b", quirks="mended", first=["crème", "two"], second=["two"])
    for env in (faithful, mended):
        play(env, "click[crème]", "click[two]")
    assert "[button] crème [button_]" in rich(faithful)
    assert rich(faithful).count("[clicked button] two") == 2
    assert "[clicked button] crème [clicked button_]" in rich(mended)
    assert rich(mended).count("[clicked button] two") == 1
