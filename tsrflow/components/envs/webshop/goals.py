"""Goals: what a shopper is asked for. Human instructions or synthetic ones, price limits, the fixed shuffle, splits.

As in the original, the limit is the larger of two draws among the next four multiples of ten above the target's own
price, and the order is a shuffle with seed 233. Unlike there, prices and limits come from a random stream of their own.
Goals are kept as numbers and put into words on demand, so that millions of synthetic ones cost 20 bytes each.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tsrflow.components.envs.webshop.records import Product
from tsrflow.types import Split

Kind = Literal["human", "synthetic"]
SHUFFLE_SEED = 233
NO_LIMIT = 1_000_000.0
_LIMITS = tuple(10.0 * i for i in range(1, 100))
_TEST, _VALIDATION = 500, 1500
"""Ends of the published test and validation ranges; what follows is for training."""
_TEST_SHARE, _VALIDATION_SHARE = 0.1, 0.3
"""The same as shares, for catalogues with fewer goals."""


@dataclass(frozen=True, slots=True)
class Goal:
    """One instruction and everything its reward is computed from."""

    text: str
    asin: str
    title: str
    query: str
    product_category: str
    attributes: tuple[str, ...]
    options: tuple[str | tuple[str, str], ...]
    """Values (human goals) or (name, value) pairs (synthetic goals)."""
    price_upper: float


@dataclass(frozen=True, slots=True, eq=False)
class Summary:
    """What goals are made from, for N products: ``pricing`` float64 [N, 2] (NaN as second without a range), ``human``
    int64 [N] (usable human instructions), ``combinations`` int64 [N] (option combinations; 0 without instruction)."""

    pricing: NDArray[np.float64]
    human: NDArray[np.int64]
    combinations: NDArray[np.int64]


def summarise(products: Sequence[Product]) -> Summary:
    """The ``Summary`` of products that are all in memory."""
    rows = [summary_row(product) for product in products]
    return Summary(
        np.asarray([row[:2] for row in rows], dtype=np.float64).reshape(-1, 2),
        np.asarray([row[2] for row in rows], dtype=np.int64),
        np.asarray([row[3] for row in rows], dtype=np.int64),
    )


def summary_row(product: Product) -> tuple[float, float, int, int]:
    """(price, other end of its range or NaN, human goals, synthetic goals) of one product."""
    low, high = product.pricing[0], product.pricing[1] if len(product.pricing) > 1 else math.nan
    synthetic = 0
    if product.instruction is not None:
        synthetic = 1
        for _, values in product.options:
            synthetic *= len(values)
    return low, high, sum(bool(each.attributes) for each in product.human), synthetic


@dataclass(frozen=True, slots=True, eq=False)
class GoalTable:
    """G goals in their final order: ``product`` int32 [G], ``variant`` int64 [G] (number of the instruction or of the
    option combination), ``limit`` float64 [G]; and the sampled ``prices`` float64 [N] of all products."""

    kind: Kind
    product: NDArray[np.int32]
    variant: NDArray[np.int64]
    limit: NDArray[np.float64]
    prices: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.product)

    def goal(self, number: int, products: Sequence[Product]) -> Goal:
        """Goal ``number`` in words."""
        product = products[int(self.product[number])]
        variant, limit = int(self.variant[number]), float(self.limit[number])
        if self.kind == "human":
            instruction = [each for each in product.human if each.attributes][variant]
            text, attributes = instruction.text.strip("."), instruction.attributes
            options: tuple[str | tuple[str, str], ...] = instruction.options
        else:
            pairs = _combination(product, variant)
            wish = f" with {', and '.join(f'{n}: {v}' for n, v in pairs)}" if pairs else ""
            text, attributes, options = f"{product.instruction}{wish}", product.instruction_attributes, pairs
        price = "" if limit == NO_LIMIT else f", and price lower than {limit:.2f} dollars"
        return Goal(
            text + price,
            product.asin,
            product.title,
            product.query,
            product.product_category,
            attributes,
            options,
            limit,
        )


def build_table(kind: Kind, summary: Summary, seed: int) -> GoalTable:
    """Draw prices and limits from ``seed`` and shuffle."""
    rng = random.Random(seed)
    prices = [low if math.isnan(high) else rng.uniform(low, high) for low, high in summary.pricing.tolist()]
    count = summary.human if kind == "human" else summary.combinations
    product = np.repeat(np.arange(len(count), dtype=np.int32), count)
    variant = np.arange(len(product)) - np.repeat(np.cumsum(count) - count, count)
    limits: list[float] = []
    for number in np.flatnonzero(count).tolist():
        price, wanted = prices[number], int(count[number])
        if kind == "human":
            limits += [_limit(price, rng) for _ in range(wanted)]
        else:
            limits += [_limit(price, rng)] * wanted
    order = list(range(len(product)))
    random.Random(SHUFFLE_SEED).shuffle(order)
    place = np.asarray(order, dtype=np.int64)
    limit = np.asarray(limits, dtype=np.float64)
    return GoalTable(kind, product[place], variant[place], limit[place], np.asarray(prices, dtype=np.float64))


def _limit(price: float, rng: random.Random) -> float:
    above = [limit for limit in _LIMITS if limit > price][:4]
    return max(rng.sample(above, 2)) if len(above) >= 2 else NO_LIMIT


def _combination(product: Product, number: int) -> tuple[tuple[str, str], ...]:
    """Option combination ``number``, in the order of nested loops over the names in alphabetical order."""
    pairs = []
    for name, values in sorted(product.options, reverse=True):
        number, place = divmod(number, len(values))
        pairs.append((name, values[place]))
    return tuple(reversed(pairs))


@lru_cache(maxsize=64)
def split_range(count: int, split: Split) -> range:
    """Goal numbers of a split of ``count`` goals: the published ranges, or shares where there are too few for them."""
    test, validation = _TEST, _VALIDATION
    if count <= validation:
        test, validation = round(_TEST_SHARE * count), round(_VALIDATION_SHARE * count)
    return {"test": range(test), "validation": range(test, validation), "train": range(validation, count)}[split]
