"""What the policy reads: the original's texts, or compact pages for policies with a context of a few hundred tokens.

A compact page leaves out what the policy knows already: the instruction is shown on the search page only, as its bare
phrases (``desk pad cork backed, white, under $50``). Results are numbered so that ``click[2]`` opens the second,
prices are whole dollars rounded up (limits are multiples of ten, so nothing is lost), and chosen option values carry a
star.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from tsrflow.components.envs.webshop.catalogue import World
from tsrflow.components.envs.webshop.config import WebShopConfig
from tsrflow.components.envs.webshop.pages import Node, clickables, plain_text, rich_text
from tsrflow.components.envs.webshop.records import Product
from tsrflow.components.envs.webshop.session import Rules, Session

_BULLET_CHARS, _SUB_PAGE_CHARS, _TITLE_CHARS = 60, 240, 60
_LEAD = re.compile(
    r"^(?:please )?(?:find me|show me|get me|i am looking for|i'm looking for|looking for|i am searching for|"
    r"i am after|i need|i want(?: to (?:buy|order|find))?|i would like(?: to (?:buy|order|find))?|"
    r"can you (?:find|get) me)\s+"
    r"(?:(?:a|an|the|some) )?(?:pair of |set of )?",
    re.IGNORECASE,
)
_PRICE = re.compile(r",? and price lower than (\d+)\.\d+ dollars$")
_BREAK = re.compile(r",|;|\.| with | that | which | in | for | and ")
_SKIPPED = "a an the is are it its in on of and or as with that which for to my me i want need color size sold holding"
_NO_KEYWORDS = frozenset(_SKIPPED.split())


def observe(session: Session, page: Sequence[Node], world: World, config: WebShopConfig, rules: Rules) -> str:
    """The observation of the current page; ``page`` holds its nodes."""
    if config.observation == "compact":
        text = _compact(session, page, world, rules)
    elif config.observation == "rich":
        text = rich_text(page, session, world, rules)
    else:
        text = plain_text(page)
    if config.obs_chars is not None and len(text) > config.obs_chars:
        text = f"{text[: config.obs_chars - 1]}…"
    if config.list_actions:
        text = f"{text}\nAvailable actions: {', '.join(available(session, page, world, config, rules)) or 'none'}"
    return text


def available(session: Session, page: Sequence[Node], world: World, config: WebShopConfig, rules: Rules) -> list[str]:
    """Actions as the policy may write them, with ``search[words]`` standing for every search."""
    if session.page == "done":
        return []
    searches = ["search[words]"] if session.page == "search" else []
    return searches + [f"click[{label}]" for label in click_labels(session, page, config, rules)]


def click_labels(session: Session, page: Sequence[Node], config: WebShopConfig, rules: Rules) -> list[str]:
    """What can be clicked; products by their position where the observation numbers them."""
    labels = [label for label in clickables(page) if label and label != "search"]
    if config.observation != "compact" or session.page != "results":
        return labels
    links = {node.text.lower() for node in page if node.kind == "link"}
    positions = [str(i + 1) for i in range(len(session.listed(rules.per_page)))]
    return positions + [label for label in labels if label not in links]


def by_position(session: Session, label: str, rules: Rules) -> int | None:
    """The product that a number on a compact results page means."""
    listed = session.listed(rules.per_page) if session.page == "results" else ()
    return next((product for place, product in enumerate(listed, start=1) if label == str(place)), None)


def phrases(instruction: str) -> list[str]:
    """What an instruction asks for, without the words around it and without the price limit."""
    body = _LEAD.sub("", _PRICE.sub("", instruction.strip()).lower())
    found = (_content(part) for part in _BREAK.split(body))
    return [phrase for phrase in found if phrase]


def queries(instruction: str) -> list[str]:
    """Searches that suggest themselves from the words of an instruction, the shortest first, all words last."""
    first, *others = phrases(instruction) or [""]
    found = [first, *(f"{first} {other}" for other in others[:2]), " ".join([first, *others])]
    return [query for query in dict.fromkeys(found) if query]


def _content(text: str) -> str:
    words = (word.strip(":'\"") for word in re.findall(r"[^\s()\[\]|]+", text))
    return " ".join(word for word in words if word and word not in _NO_KEYWORDS)


def _compact(session: Session, page: Sequence[Node], world: World, rules: Rules) -> str:
    if session.page == "search":
        instruction = next((node.text for node in page[2:] if node.kind == "text"), "")
        found = phrases(instruction) + [f"under ${price}" for price in _PRICE.findall(instruction)]
        return f"{', '.join([' '.join(found[:2]), *found[2:]])}\nsearch page"  # the start is a query as it stands
    if session.page == "results":
        return "\n".join([f"page {session.number}, {len(session.hits)} results", *_listing(session, world, rules)])
    assert session.product is not None
    product = world.products[session.product]
    if session.page == "done":
        return f"bought {product.title[:_TITLE_CHARS].lower()}"
    if session.page == "sub":
        last_button = max(place for place, node in enumerate(page) if node.kind == "button")
        text = " ".join(" ".join(node.text for node in page[last_button + 1 :]).split())
        return f"{session.sub}: {text[:_SUB_PAGE_CHARS] or 'nothing'}".lower()
    lines = [_line(product)]
    if product.bullets:
        lines.append(product.bullets[0].strip()[:_BULLET_CHARS].lower())
    for name, values in product.options:
        marked = (f"{value}*" if (name, value) in session.options else value for value in values)
        lines.append(f"{name}: {', '.join(marked)}")
    return "\n".join(lines)


def _listing(session: Session, world: World, rules: Rules) -> list[str]:
    listed = [world.products[place] for place in session.listed(rules.per_page)]
    return [f"{i} {_line(product)}" for i, product in enumerate(listed, start=1)] or ["nothing found"]


def _line(product: Product) -> str:
    price = "-".join(str(math.ceil(price)) for price in product.pricing)
    return f"${price} {product.title[:_TITLE_CHARS].lower()}"
