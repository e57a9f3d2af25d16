"""A data set ready to be shopped in, and the goals drawn for it: loaded once per process, shared by all environments.

Everything here is read only. Products come from files in the original's format, or, without data, from ``invent``.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from tsrflow import streams
from tsrflow.components.envs.webshop import invent, nouns, reward, store
from tsrflow.components.envs.webshop.bm25 import TOP, Index, build
from tsrflow.components.envs.webshop.config import WebShopConfig
from tsrflow.components.envs.webshop.files import locate
from tsrflow.components.envs.webshop.goals import Goal, GoalTable, Kind, Summary, build_table, split_range, summarise
from tsrflow.components.envs.webshop.records import Product
from tsrflow.errors import ConfigError
from tsrflow.types import Split

_lock = threading.RLock()
_ENOUGH_HUMAN_GOALS = 1500
"""With more human goals than this the published splits exist, and ``goals=auto`` means human ones."""


@dataclass(frozen=True, slots=True, eq=False)
class Catalogue:
    """Products by number, the index over them, and where title nouns come from."""

    products: Sequence[Product]
    index: Index
    summary: Summary
    nouns: nouns.Nouns
    digest: str
    """Names the content."""


class World:
    """A catalogue with its goals. What is asked for again and again is remembered, within bounds."""

    def __init__(self, catalogue: Catalogue, table: GoalTable, seed: int) -> None:
        self.products = catalogue.products
        self.digest = f"{catalogue.digest}:{table.kind}:{seed}"
        self.table = table
        self.catalogue = catalogue
        self.goal = lru_cache(maxsize=1 << 14)(self._goal)
        self.search = lru_cache(maxsize=1 << 13)(catalogue.index.search)
        self.match = lru_cache(maxsize=1 << 16)(self._match)
        self.where = lru_cache(maxsize=256)(self._where)

    def goal_number(self, split: Split, index: int) -> int:
        """Number of the goal that is task ``index`` of ``split``; train wraps. Raises IndexError."""
        numbers = split_range(len(self.table), split)
        if index < 0 or not numbers or (split != "train" and index >= len(numbers)):
            raise IndexError(f"the {split} split has {len(numbers)} goals, no goal {index}")
        return numbers[index % len(numbers)]

    def random_products(self, seed: int) -> tuple[int, ...]:
        """Products that the hidden keyword ``<r>`` shows. Raises ValueError where there are too few."""
        return tuple(random.Random(seed).sample(range(len(self.products)), TOP))

    def _goal(self, number: int) -> Goal:
        return self.table.goal(number, self.products)

    def _match(self, goal: Goal, product: int) -> reward.ProductMatch:
        """What ``goal`` gets from the product of that number."""
        item, tag = self.products[product], self.catalogue.nouns
        kind = reward.match_type(item, goal, tag(item.title), tag(goal.title))
        attributes = reward.count_attributes(item, goal.attributes)
        return reward.ProductMatch(kind, attributes, bool(self.table.prices[product] <= goal.price_upper))

    def _where(self, field: str, value: str) -> tuple[int, ...]:
        """Products whose ``field`` (category or query) is ``value``, in catalogue order."""
        return tuple(i for i, product in enumerate(self.products) if getattr(product, field) == value)


def open_world(config: WebShopConfig) -> World:
    """The world of ``config``. Raises ConfigError where its data is missing or wrong."""
    with _lock:
        tagger = (config.nouns, config.spacy_model)
        return _world(config.data, config.max_products, config.cache, tagger, config.goals, config.world_seed)


@lru_cache(maxsize=4)
def _world(
    data: str | None, max_products: int | None, cache: str | None, tagger: tuple[str, str], goals: str, seed: int
) -> World:
    catalogue = _catalogue(data, max_products, cache, tagger)
    human = int(catalogue.summary.human.sum())
    kind: Kind = "human" if goals == "human" or (goals == "auto" and human > _ENOUGH_HUMAN_GOALS) else "synthetic"
    table = build_table(kind, catalogue.summary, seed)
    if len(table) < 3:
        where = f"env.data={data}" if data else "the generated catalogue"
        raise ConfigError(f"env.goals={goals}: {where} has only {len(table)} {kind} goals; at least 3 are needed")
    return World(catalogue, table, seed)


@lru_cache(maxsize=4)
def _catalogue(data: str | None, max_products: int | None, cache: str | None, tagger: tuple[str, str]) -> Catalogue:
    choice, spacy_model = tagger
    if data is None:
        if choice == "table":
            raise ConfigError("env.nouns=table: the generated catalogue has no title_nouns table")
        products = invent.products()[:max_products]
        index = build([p.asin for p in products], (p.index_text() for p in products))
        tag = nouns.by_rule if choice == "auto" else nouns.source(choice, None, spacy_model)
        digest = f"{streams.fold(len(products), *(p.asin for p in products)):016x}"
        return Catalogue(products, index, summarise(products), tag, digest)
    files = locate(data)
    opened = store.open_store(files, max_products, cache)
    tag = nouns.source(choice, files.nouns, spacy_model)
    return Catalogue(opened.products, opened.index, opened.summary, tag, opened.digest)
