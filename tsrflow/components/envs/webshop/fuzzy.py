"""Approximate matching of attributes and option values: thefuzz's ``token_set_ratio`` on rapidfuzz, and colour words.

A score is thefuzz 0.22's: non-strings become text, Latin-1 characters go, rapidfuzz's default processing, then the
ratio rounded to an integer. The threshold is strict.
"""

from __future__ import annotations

from functools import lru_cache

from rapidfuzz import fuzz
from rapidfuzz.utils import default_process

THRESHOLD = 85
_NO_LATIN_1 = {code: None for code in range(128, 256)}
_COLORS = (
    "alabaster apricot aqua ash asphalt azure banana beige black blue blush bordeaux bronze brown burgundy camel camo "
    "caramel champagne charcoal cheetah chestnut chocolate christmas coffee cognac copper coral cranberry cream "
    "crystal dark denim eggplant elephant espresso fuchsia gold granite grape graphite grass gray green grey heather "
    "indigo ivory ivy khaki lavender lemon leopard light lilac lime magenta maroon mauve merlot midnight mint mocha "
    "multicolor mushroom mustard natural navy nude olive orange peach pewter pink plum purple rainbow red rose royal "
    "rust sand sapphire seashell silver skull slate steel stone stonewash sunflower tan taupe teal tiger turquoise "
    "violet walnut wheat white wine yellow"
)
COLOR_WORDS = tuple(_COLORS.split())
"""The first of these that occurs in a value stands for the whole value."""

Wanted = str | tuple[str, str]


def normalize_color(value: Wanted) -> Wanted:
    """The colour word in ``value``, or ``value``. A pair is searched element by element, as the original does it."""
    return next((word for word in COLOR_WORDS if word in value), value)


@lru_cache(maxsize=1 << 16)
def score(first: Wanted, second: Wanted) -> int:
    """Similarity in 0 … 100; pairs are compared as the text of a Python tuple."""
    return round(fuzz.token_set_ratio(_processed(first), _processed(second)))


def _processed(value: Wanted) -> str:
    return default_process(str(value).translate(_NO_LATIN_1))


@lru_cache(maxsize=1 << 16)
def option_matches(value: str, wanted: Wanted) -> bool:
    """Whether choosing ``value`` gives what a goal's option asks for."""
    return score(normalize_color(value), normalize_color(wanted)) > THRESHOLD
