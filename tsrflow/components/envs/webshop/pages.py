"""What the shopper sees: every page as a list of text nodes, made from product and session fields alone.

The original renders HTML and reads the visible text back. Its parser turns a node of nothing but ASCII white space into
one space, or drops it where it holds a line break; that is kept, everything else of HTML cancels out.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Literal, NamedTuple

from tsrflow.components.envs.webshop.catalogue import World
from tsrflow.components.envs.webshop.records import Product
from tsrflow.components.envs.webshop.session import Rules, Session, address

SEPARATOR = " [SEP] "
_ASCII_SPACE = " \n\t\f\r"
_HTML_SAFE = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "'": "\\u0027"})
_BEFORE_SCORE = [
    "Target",
    "asin",
    "options",
    "attrs",
    "price upper",
    "instuction text",
    "category",
    "product category",
    "query",
    "Goal ",
    "None",
    "Reward",
    "Your score (min 0.0, max 1.0)",
]


class Node(NamedTuple):
    """One visible text; ``target`` is the product a link leads to, or the (name, value) an option sets."""

    text: str
    kind: Literal["text", "button", "link", "option"] = "text"
    target: int | tuple[str, str] | None = None


def nodes(session: Session, instruction: str, world: World, rules: Rules) -> list[Node]:
    """The visible nodes of the current page, top to bottom."""
    if session.page == "search":
        page = [Node("WebShop"), Node("Instruction: "), Node(instruction), Node("Search", "button")]
    elif session.page == "done":
        page = _done(session, world)
    else:
        page = [Node("Instruction:"), Node(instruction), Node("Back to Search", "button")]
        if session.page == "results":
            page += _results(session, world, rules)
        else:
            assert session.product is not None
            product = world.products[session.product]
            page.append(Node("< Prev", "button"))
            page += _item(product, rules) if session.page == "item" else _sub_page(product, session.sub)
    return [seen for node in page if (seen := _seen(node)) is not None]


def clickables(page: Sequence[Node]) -> dict[str, int | tuple[str, str] | None]:
    """What can be clicked, in the original's order, and where it leads (None: a button).

    Of equal labels the first gives the place in the order and the last gives the target.
    """
    found: dict[str, int | tuple[str, str] | None] = {}
    for kind in ("button", "link", "option"):
        for node in page:
            if node.kind == kind:
                found[node.text if kind == "option" else node.text.lower()] = node.target
    return found


def plain_text(page: Sequence[Node]) -> str:
    """The ``text`` observation."""
    return SEPARATOR.join(node.text.strip() for node in page)


def rich_text(page: Sequence[Node], session: Session, world: World, rules: Rules) -> str:
    """The ``text_rich`` observation: one node a line, with buttons and what has been clicked marked."""
    lines: list[str] = []
    announced = ""
    where = address(session, world)
    for node in page:
        if node.kind == "text":
            lines.append(node.text)
            continue
        clicked = node.kind == "link" and node.target in session.visited
        if node.kind == "option":
            clicked = f'"{node.text}"' in where if rules.faithful else node.target in session.options
            if clicked:
                announced = f"You have clicked {node.text}.\n{announced}"
        button = "clicked button" if clicked else "button"
        indent = {"button": "", "link": "\n", "option": "  "}[node.kind]
        lines.append(f"{indent}[{button}] {node.text} [{button}_]")
    return announced + "".join(f"{line}\n" for line in lines)


def _seen(node: Node) -> Node | None:
    if node.text.strip(_ASCII_SPACE):
        return node
    return None if not node.text or "\n" in node.text else node._replace(text=" ")


def _results(session: Session, world: World, rules: Rules) -> list[Node]:
    number = session.number or 0
    page = [Node(f"Page {number} (Total results: {len(session.hits)})")]
    if number > 1:
        page.append(Node("< Prev", "button"))
    page.append(Node("Next >", "button"))
    for place in session.listed(rules.per_page):
        product = world.products[place]
        page += [Node(product.asin, "link", place), Node(product.title), Node(product.price)]
    return page


def _item(product: Product, rules: Rules) -> list[Node]:
    page: list[Node] = []
    for name, values in product.options:
        page += [Node(name), *(Node(value, "option", (name, value)) for value in values)]
    tabs = ["Description", "Features", "Reviews", *(["Attributes"] if rules.show_attributes else []), "Buy Now"]
    page += [Node(product.title), Node(f"Price: {product.price}"), Node("Rating: N.A.")]
    return page + [Node(tab, "button") for tab in tabs]


def _sub_page(product: Product, name: str) -> list[Node]:
    if name == "Description":
        return [Node(product.description)]
    if name == "Features":
        return [Node(f" {bullet}") for bullet in product.bullets]
    if name == "Attributes":
        rest = (product.category, product.query, product.product_category)
        return [*(Node(f" {attribute}") for attribute in product.attributes), *map(Node, rest)]
    return []


def _done(session: Session, world: World) -> list[Node]:
    assert session.product is not None
    chosen = json.dumps(dict(session.options), sort_keys=True).translate(_HTML_SAFE)
    texts = ["Thank you for shopping with us!", "Your code: ", "None", " (Paste it in your MTurk interface.)"]
    texts += ["Purchased", "asin", world.products[session.product].asin, "options", chosen]
    texts += ["attrs", "None", "category", "None", "query", "None", "product category", "None"]
    return [Node(text) for text in [*texts, *_BEFORE_SCORE, str(session.score), "Reward Details ", "None"]]
