"""What a purchase is worth: type · (attributes + options + price) / (number of attributes + number of options + 1).

Parts are named as in the original: ``r_type``, ``r_att``, ``r_option``, ``r_price`` and their weights ``w_*``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tsrflow.components.envs.webshop.fuzzy import THRESHOLD, Wanted, option_matches, score
from tsrflow.components.envs.webshop.goals import Goal
from tsrflow.components.envs.webshop.records import Product

_CATEGORY_SEPARATOR = "›"


@dataclass(frozen=True, slots=True)
class TypeMatch:
    """How far a product is of the kind that was asked for."""

    r_type: float
    query_match: bool
    category_match: bool
    title_score: float


@dataclass(frozen=True, slots=True)
class ProductMatch:
    """What a goal gets from a product before any option is chosen."""

    type: TypeMatch
    attributes: int
    """Goal attributes that the product has."""
    price: bool
    """Whether it costs no more than the goal allows."""


@dataclass(frozen=True, slots=True)
class Reward:
    """A purchase's ``value`` in [0, 1], and what it is made of."""

    value: float
    match: ProductMatch
    options: int
    """Goal options that the chosen values satisfy."""
    wanted_attributes: int
    wanted_options: int

    def parts(self) -> dict[str, float]:
        """The parts by the original's names; without ``r_option`` where the goal asks for no option."""
        total = self.wanted_attributes + self.wanted_options + 1
        parts = {
            "r_type": self.match.type.r_type,
            "r_att": self.match.attributes / self.wanted_attributes if self.wanted_attributes else 0.0,
            "w_att": self.wanted_attributes / total,
            "query_match": float(self.match.type.query_match),
            "category_match": float(self.match.type.category_match),
            "title_score": self.match.type.title_score,
            "r_price": float(self.match.price),
            "w_price": 1 / total,
        }
        if self.wanted_options:
            parts |= {"r_option": self.options / self.wanted_options, "w_option": self.wanted_options / total}
        return parts


def match_type(product: Product, goal: Goal, nouns: Sequence[str], goal_nouns: Sequence[str]) -> TypeMatch:
    """Same query, two common category words or common title nouns; little in common costs most of the reward."""
    query = product.query == goal.query
    category = len(_categories(product.product_category) & _categories(goal.product_category)) >= 2
    common = len(set(nouns) & set(goal_nouns)) / len(goal_nouns) if goal_nouns else 0.2
    r_type = 1.0 if query or category or common > 0.2 else 0.5
    if common < 0.1:
        r_type = 0.1
    if common == 0.0:
        r_type = 0.0
    return TypeMatch(r_type, query, category, common)


def count_attributes(product: Product, wanted: Iterable[str]) -> int:
    """How many of the ``wanted`` attributes the product has, by name or somewhere in its texts."""
    texts = (product.title.lower(), " ".join(product.bullets).lower(), product.description.lower())
    return sum(
        any(score(has, want) > THRESHOLD for has in product.attributes) or any(want in text for text in texts)
        for want in wanted
    )


def count_options(chosen: Iterable[str], wanted: Iterable[Wanted]) -> int:
    """How many of the ``wanted`` options some chosen value satisfies."""
    values = tuple(chosen)
    return sum(any(option_matches(value, want) for value in values) for want in wanted)


def reward(goal: Goal, match: ProductMatch, chosen: Iterable[str]) -> Reward:
    """The reward of buying the matched product with the ``chosen`` option values."""
    options = count_options(chosen, goal.options)
    total = len(goal.attributes) + len(goal.options) + 1
    value = (match.attributes + options + match.price) / total * match.type.r_type
    return Reward(value, match, options, len(goal.attributes), len(goal.options))


def _categories(path: str) -> set[str]:
    return {part.strip() for part in path.split(_CATEGORY_SEPARATOR)}
