"""Nouns of product titles, on which the type part of the reward rests.

The original asks a spaCy model, whose answers change from release to release. Three sources stand in for it: a table of
recorded answers, spaCy itself where it is installed, and a rule that needs no tagger: words of two or more letters that
are neither function words nor units of measure. ``docs/webshop_parity.md`` gives the share of rewards the rule changes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path

from tsrflow.components.envs.webshop.files import lines
from tsrflow.errors import ConfigError

Nouns = Callable[[str], tuple[str, ...]]

_CACHED = 1 << 15
_WORD = re.compile(r"[^\W\d_][^\W_]+")
_FUNCTION_WORDS = (
    "about above after again all also am an and any are around as at be because been before being below best between "
    "both but by can could did do does during each else every few for from further get has have her here hers him his "
    "how if in into is it its itself just may me more most must my no nor not now of off on once one only onto or "
    "other our out over own per same she should so some such than that the their them then there these they this "
    "those through to too toward under until up upon us use used very via was we were what when where which while who "
    "whom whose why will with within without would you your yours"
)
_UNITS = "cm ft gal gb ghz hz in inch inches kg lb lbs mah mb mg mhz ml mm mp oz pc pcs qt sq tb xl xs xxl yd"
_NO_NOUNS = frozenset(f"{_FUNCTION_WORDS} {_UNITS}".split())


@lru_cache(maxsize=_CACHED)
def by_rule(title: str) -> tuple[str, ...]:
    """Words that are nouns as far as a rule can tell, lower-cased, repeats kept."""
    words = _WORD.findall(title.lower())
    return tuple(word for word in words if word not in _NO_NOUNS)


def from_table(table: Mapping[str, tuple[str, ...]]) -> Nouns:
    """Look titles up; those that are missing go by the rule."""

    def look_up(title: str) -> tuple[str, ...]:
        found = table.get(title)
        return by_rule(title) if found is None else found

    return look_up


def read_table(path: Path) -> dict[str, tuple[str, ...]]:
    """Title and nouns per line: ``{"title": …, "nouns": […]}``. Raises ConfigError where a line is something else."""
    table = {}
    for number, entry in enumerate(lines(path), start=1):
        title, nouns = (entry.get("title"), entry.get("nouns")) if isinstance(entry, dict) else (None, None)
        if not isinstance(title, str) or not isinstance(nouns, list) or not all(isinstance(n, str) for n in nouns):
            raise ConfigError(f"env.data: {path}, line {number} must hold a text 'title' and a list of texts 'nouns'")
        table[title] = tuple(nouns)
    return table


@lru_cache(maxsize=4)
def by_spacy(name: str) -> Nouns | None:
    """The spaCy model of that name, or None where it is not installed."""
    try:
        import spacy

        model = spacy.load(name, disable=["parser", "ner", "lemmatizer"])
    except (ImportError, OSError):
        return None

    @lru_cache(maxsize=_CACHED)
    def tagged(title: str) -> tuple[str, ...]:
        return tuple(token.text.lower() for token in model(title) if token.pos_ in ("NOUN", "PROPN"))

    return tagged


def source(choice: str, table: Path | None, spacy_model: str) -> Nouns:
    """The nouns for ``env.nouns=choice``. Raises ConfigError where that choice cannot be had."""
    if choice == "table" and table is None:
        raise ConfigError("env.nouns=table: the data has no title_nouns.jsonl (plain or .gz)")
    if choice in ("auto", "table") and table is not None:
        return from_table(read_table(table))
    if choice in ("auto", "spacy") and (tagger := by_spacy(spacy_model)) is not None:
        return tagger
    if choice == "spacy":
        raise ConfigError(
            f"env.nouns=spacy: needs spaCy (pip install 'tsrflow[webshop]') and its model env.spacy_model={spacy_model}"
        )
    return by_rule
