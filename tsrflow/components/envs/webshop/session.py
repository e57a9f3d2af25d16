"""A shopper's session, and what searching and clicking do to it. Sessions are immutable, so a copy is a reference.

In the original every page has an address that holds the session's state, and some decisions read that address. The
``faithful`` rules do so too; the others decide by the state itself.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal, NamedTuple

from tsrflow import streams
from tsrflow.components.envs.webshop.catalogue import World
from tsrflow.components.envs.webshop.grammar import HIDDEN_KEYWORDS

Page = Literal["search", "results", "item", "sub", "done"]
SUB_PAGES = ("Description", "Features", "Reviews", "Attributes")
_SUB_PAGE = {name.lower(): name for name in SUB_PAGES}
_ADDRESS_NAMES: dict[str, Page] = {
    "search_results": "results",
    "item_page": "item",
    "item_sub_page": "sub",
    "done": "done",
}
"""Page names in the order in which the original looks for them in an address."""


@dataclass(frozen=True, slots=True)
class Rules:
    """How the shop behaves."""

    faithful: bool
    show_attributes: bool
    per_page: int


class Quirks(NamedTuple):
    """How often an episode met a behaviour of the original that a policy could exploit."""

    hidden_keyword: int = 0
    """A first word that bypasses the search engine."""
    after_done: int = 0
    """A search after buying."""
    address_confusion: int = 0
    """A page taken for another because of the words that were searched for."""


class Session(NamedTuple):
    """Everything that changes while shopping."""

    goal: int
    """Number of the goal, which is also the session's name in addresses."""
    page: Page = "search"
    keywords: tuple[str, ...] | None = None
    number: int | None = None
    """Page of the results, from 1."""
    hits: tuple[int, ...] = ()
    """Products found, best first."""
    product: int | None = None
    options: tuple[tuple[str, str], ...] = ()
    sub: str = ""
    """Name of the sub page."""
    visited: tuple[int, ...] = ()
    """Products opened since the last visit to the search page, in order of number."""
    score: float | None = None
    """Score of the purchase, on the last page."""
    draws: int = 0
    """Random selections shown so far."""
    quirks: Quirks = Quirks()

    def listed(self, per_page: int) -> tuple[int, ...]:
        """Products on the current results page."""
        start = (self.number or 0) - 1
        return self.hits[start * per_page : (start + 1) * per_page] if start >= 0 else ()

    def met(self, quirk: str) -> Session:
        """The session with one more of that quirk."""
        return self._replace(quirks=self.quirks._replace(**{quirk: getattr(self.quirks, quirk) + 1}))


def search(session: Session, query: str, world: World, rules: Rules) -> Session | None:
    """The first results page for ``query``; None where that is refused or would crash the original."""
    if session.page == "done":
        if not rules.faithful:
            return None
        session = session.met("after_done")
    return _results(session, tuple(query.split(" ")), 1, world, rules)


def click(
    session: Session, thing: str, target: int | tuple[str, str] | None, world: World, rules: Rules
) -> Session | None:
    """Follow what is labelled ``thing`` on the current page: a button, else the product or option in ``target``.

    Labels win: an option called like a button acts as that button. None where nothing happens. Buying is not done here.
    """
    if thing == "back to search":
        return Session(session.goal, draws=session.draws, quirks=session.quirks)
    here = _page_by_address(session, world) if rules.faithful else session.page
    if thing in ("next >", "< prev") and here != session.page:
        session = session.met("address_confusion")
    number = session.number or 0
    if thing == "next >" and here == "results":
        return _results(session, session.keywords or (), number + 1, world, rules)
    if thing == "< prev" and here == "results":
        return _results(session, session.keywords or (), number - 1, world, rules)
    if thing == "< prev" and here == "sub":
        return session._replace(page="item", sub="")
    if thing == "< prev" and here == "item":
        return _results(session, session.keywords or (), number, world, rules)
    if thing in _SUB_PAGE:
        return session._replace(page="sub", sub=_SUB_PAGE[thing])
    if isinstance(target, int):
        visited = tuple(sorted({*session.visited, target}))
        return session._replace(page="item", product=target, visited=visited)
    if isinstance(target, tuple):
        name, value = target
        return session._replace(page="item", options=tuple(({**dict(session.options), name: value}).items()))
    return None


def _results(session: Session, keywords: tuple[str, ...], number: int, world: World, rules: Rules) -> Session | None:
    """Results page ``number``, found anew."""
    if rules.faithful and keywords and keywords[0] in HIDDEN_KEYWORDS:
        session = session.met("hidden_keyword")
        hits = _bypass(session, keywords, world)
        if hits is None:
            return None
        session = session._replace(draws=session.draws + (keywords[0] == "<r>"))
    else:
        hits = world.search(" ".join(keywords))
    return session._replace(
        page="results", keywords=keywords, number=number, hits=hits, product=None, options=(), sub="", score=None
    )


def _bypass(session: Session, keywords: tuple[str, ...], world: World) -> tuple[int, ...] | None:
    """What a hidden keyword finds; None where the original crashes."""
    if keywords[0] == "<r>":
        try:
            return world.random_products(streams.fold(session.goal, "random products", session.draws))
        except ValueError:
            return None
    if keywords[0] == "<q>":
        return world.where("query", " ".join(keywords[1:]).strip())
    if keywords[0] == "<c>" and len(keywords) > 1:
        return world.where("category", keywords[1].strip())
    return None


def address(session: Session, world: World) -> str:
    """Address of the current page, as the original builds it."""
    if session.page == "search":
        return f"/{session.goal}"
    words = "+".join(session.keywords or ())
    if session.page == "results":
        return f"/search_results/{session.goal}/{words}/{session.number}"
    assert session.product is not None
    asin, chosen = world.products[session.product].asin.upper(), dict(session.options)
    if session.page == "item":
        return f"/item_page/{session.goal}/{asin}/{words}/{session.number}/{json.dumps(chosen)}"
    if session.page == "sub":
        return f"/item_sub_page/{session.goal}/{asin}/{words}/{session.number}/{session.sub}/{chosen}"
    return f"/done/{session.goal}/{asin}/{chosen}"


def _page_by_address(session: Session, world: World) -> Page:
    where = address(session, world)
    return next((page for name, page in _ADDRESS_NAMES.items() if name in where), session.page)
