"""The catalogue that ``env=webshop`` brings along: invented products and requests, the same on every machine.

Its structure makes the three parts of the reward matter. Every kind of product comes in families of four that a search
can hardly tell apart: the plain one, one that costs far more, one with another main attribute, and one that lacks an
option value. A product has four attributes, each somewhere on its pages; the third only in the features, which the
search engine does not read. Requests name one or two attributes and most of the options.

``python -m tsrflow.components.envs.webshop --write DIR`` writes it in the original's file format.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

from tsrflow.components.envs.webshop.invent_words import (
    BRAND_ENDS,
    BRAND_STARTS,
    DEPARTMENTS,
    NOTES,
    OPTION_PHRASES,
    OPTION_VALUES,
    REQUESTS,
    Department,
)
from tsrflow.components.envs.webshop.records import Product, product_from_record

SEED = 20260101
FAMILIES = 5
"""Families of four products per kind."""
REQUESTS_PER_PRODUCT = 3
_TRIES = 20
_RANGE_SHARE = 0.08
_NO_OPTION_SHARE = 0.15
_OPTION_ASKED_SHARE = 0.75
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Records:
    """A catalogue as the three files of the original hold it."""

    items: list[dict[str, Any]]
    instructions: dict[str, Any]
    human: dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Draft:
    kind: str
    brand: str
    attributes: tuple[str, ...]
    price: float
    options: dict[str, list[str]]


class _Dice:
    """Choices that depend on nothing but ``random()``, whose sequence Python guarantees."""

    def __init__(self, seed: int) -> None:
        self._uniform = random.Random(seed).random

    def chance(self, probability: float) -> bool:
        return self._uniform() < probability

    def between(self, low: float, high: float) -> float:
        return low + (high - low) * self._uniform()

    def one(self, of: Sequence[T]) -> T:
        return of[int(self._uniform() * len(of))]

    def some(self, of: Sequence[T], count: int) -> list[T]:
        """``count`` different ones, in random order."""
        left = list(of)
        return [left.pop(int(self._uniform() * len(left))) for _ in range(min(count, len(left)))]


@lru_cache(maxsize=1)
def products() -> tuple[Product, ...]:
    """The catalogue of ``records()``."""
    content = records()
    return tuple(
        product_from_record(item, content.instructions[item["asin"]], content.human.get(item["asin"], []))
        for item in content.items
    )


def records(seed: int = SEED, families: int = FAMILIES) -> Records:
    """1200 products and about 3600 requests with the default sizes; more ``families`` give more of both."""
    dice = _Dice(seed)
    items: list[dict[str, Any]] = []
    instructions: dict[str, Any] = {}
    human: dict[str, Any] = {}
    asked: set[str] = set()
    taken: set[str] = set()
    for department in DEPARTMENTS:
        pool = _split(department.attributes)
        for line in department.kinds.splitlines():
            kind, prices, groups = (part.strip() for part in line.split(":"))
            for draft in _drafts(kind, prices, _split(groups), pool, families, dice):
                asin = _asin(dice, taken)
                items.append(_item(asin, draft, department, dice))
                instructions[asin] = {
                    "attributes": list(draft.attributes),
                    "instruction": f"Find me {', '.join(draft.attributes[:2])} {kind}s",
                    "instruction_attributes": list(draft.attributes[:2]),
                }
                human[asin] = list(_requests(asin, draft, dice, asked))
    order = dice.some(items, len(items))
    return Records(order, instructions, human)


def _drafts(kind: str, prices: str, groups: list[str], pool: list[str], families: int, dice: _Dice) -> Iterator[_Draft]:
    low, high = (float(end) for end in prices.split("-"))
    for _ in range(families):
        first, second, third, fourth, other = dice.some(pool, 5)
        price = round(dice.between(low, high), 2)
        options = {} if dice.chance(_NO_OPTION_SHARE) else {group: _values(group, dice) for group in groups}
        fewer = {group: values[:-1] if n == 0 else values for n, (group, values) in enumerate(options.items())}
        plain = (first, second, third, fourth)
        for attributes, cost, choice in (
            (plain, price, options),
            (plain, round(2 * price + 45, 2), options),
            ((other, second, third, fourth), round(price * dice.between(0.8, 1.2), 2), options),
            (plain, round(price * dice.between(0.8, 1.2), 2), fewer),
        ):
            yield _Draft(kind, _brand(dice), attributes, cost, choice)


def _values(group: str, dice: _Dice) -> list[str]:
    values = _split(OPTION_VALUES[group])
    return dice.some(values, 4) if len(values) > 4 else values


def _item(asin: str, draft: _Draft, department: Department, dice: _Dice) -> dict[str, Any]:
    first, second, third, fourth = draft.attributes
    place = dice.one(_split(department.places))
    price = f"${draft.price:.2f}"
    if dice.chance(_RANGE_SHARE):
        price = f"{price} - ${draft.price * 1.25:.2f}"
    title = f"{draft.brand} {first.title()} {draft.kind.title()}"
    return {
        "asin": asin,
        "name": title,
        "full_description": f"A {draft.kind} by {draft.brand}, made for {place}. It is {second} and {fourth}.",
        "small_description": [
            f"{second.capitalize()} {draft.kind} for {place}",
            f"{third.capitalize()}, as {draft.brand} promises",
            dice.one(NOTES),
        ],
        "pricing": price,
        "customization_options": {
            group: [{"value": value, "image": None} for value in values] for group, values in draft.options.items()
        },
        "category": department.category,
        "query": f"{draft.kind}s",
        "product_category": f"{department.path} › {draft.kind.title()}s",
        "images": [""],
    }


def _requests(asin: str, draft: _Draft, dice: _Dice, asked: set[str]) -> Iterator[dict[str, Any]]:
    """Requests that nobody has made before; fewer where there is nothing else left to ask for."""
    for _ in range(REQUESTS_PER_PRODUCT):
        for _ in range(_TRIES):
            wanted = dice.some(draft.attributes[:2], 1)
            if dice.chance(0.5):
                wanted += dice.some([a for a in draft.attributes if a not in wanted], 1)
            chosen = {g: dice.one(v) for g, v in draft.options.items() if dice.chance(_OPTION_ASKED_SHARE)}
            phrases = [OPTION_PHRASES[group].format(value) for group, value in chosen.items()]
            text = dice.one(REQUESTS).format(
                kind=draft.kind,
                attributes=" and ".join(wanted),
                options=f", {' and '.join(phrases)}" if phrases else "",
            )
            if text not in asked:
                asked.add(text)
                yield {
                    "asin": asin,
                    "instruction": f"{text}.",
                    "instruction_attributes": wanted,
                    "instruction_options": list(chosen.values()),
                }
                break


def _brand(dice: _Dice) -> str:
    return (dice.one(BRAND_STARTS.split()) + dice.one(BRAND_ENDS.split())).capitalize()


def _asin(dice: _Dice, taken: set[str]) -> str:
    while True:
        asin = "G" + "".join(dice.one(_ALPHABET) for _ in range(9))
        if asin not in taken:
            taken.add(asin)
            return asin


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]
