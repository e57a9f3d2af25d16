"""The search engine against a slow BM25 written from its formula, and what Lucene's analysis does to words."""

from __future__ import annotations

import math
import time
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tsrflow.components.envs.webshop import bm25
from tsrflow.components.envs.webshop.tokens import terms

WORDS = st.sampled_from(["red", "blue", "mug", "tea", "tin", "old", "new", "box", "cup", "jar", "lid", "pot"])
DOCUMENTS = st.lists(st.lists(WORDS, max_size=30).map(" ".join), min_size=1, max_size=40)


def slow_search(ids: list[str], documents: list[str], query: str) -> list[tuple[str, float]]:
    """Every document's score by the formula, term by term, in float32."""
    f = np.float32
    counts = [Counter(terms(document)) for document in documents]
    lengths = [sum(count.values()) for count in counts]
    described = sum(length > 0 for length in lengths)
    if described == 0:
        return []
    mean = f(sum(lengths) / described)
    scored = []
    for name, count, length in zip(ids, counts, lengths, strict=True):
        norm = f(1) / (f(0.9) * ((f(1) - f(0.4)) + f(0.4) * f(bm25.one_byte_length(length)) / mean))
        total = 0.0
        for term, repeats in Counter(terms(query)).items():
            if count[term]:
                having = sum(term in other for other in counts)
                weight = f(repeats) * f(math.log(1 + (described - having + 0.5) / (having + 0.5)))
                total += float(weight - weight / (f(1) + f(count[term]) * norm))
        if total:
            scored.append((name, float(f(total))))
    return sorted(scored, key=lambda pair: (-pair[1], pair[0]))[: bm25.TOP]


@settings(deadline=None, max_examples=60)
@given(DOCUMENTS, st.lists(WORDS, max_size=8).map(" ".join), st.randoms())
def test_scores_and_order_follow_the_formula(documents: list[str], query: str, rng: object) -> None:
    ids = [f"{(7919 * i) % 997:03}" for i in range(len(documents))]
    index = bm25.build(ids, documents)
    found = [(ids[place], score) for place, score in index.scored(query)]
    assert found == slow_search(ids, documents, query)


def test_many_documents_with_equal_scores_come_in_order_of_their_ids() -> None:
    ids = [f"{(7919 * i) % 99991:05}" for i in range(3000)]
    index = bm25.build(ids, ("mug " * (1 + (i % 3 == 0)) for i in range(3000)))
    found = [ids[place] for place in index.search("mug")]
    assert found == [name for name, _ in slow_search(ids, ["mug " * (1 + (i % 3 == 0)) for i in range(3000)], "mug")]
    assert len(found) == bm25.TOP


def test_blocks_of_documents_are_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = [str(i) for i in range(10)]
    texts = [f"mug number {i} {'tea ' * i}" for i in range(10)]
    whole = bm25.build(ids, texts)
    monkeypatch.setattr(bm25, "_BLOCK", 5)  # the last block is empty
    parts = bm25.build(ids, texts)
    for name, values in whole.arrays().items():
        assert np.array_equal(values, parts.arrays()[name]), name


def test_nothing_is_found_for_unknown_and_stop_words() -> None:
    index = bm25.build(["a"], ["red mug"])
    assert index.search("") == index.search("the of and") == index.search("xyzzy") == ()
    assert bm25.build(["a"], [""]).search("mug") == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Runner's shoes", ["runner", "shoe"]),
        ("women’s", ["women"]),
        ("relational possibly", ["relat", "possibl"]),
        ("3.5mm 1,000 v2.0x", ["3.5mm", "1,000", "v2.0x"]),
        ("tone:green a_b __", ["tone:green", "a_b"]),
        ("✔ ok ★☆ 👨‍💼 🇩🇪🇫🇷", ["✔", "ok", "★", "👨‍💼", "🇩🇪", "🇫🇷"]),
        ("漢字かな カタカナ", ["漢", "字", "か", "な", "カタカナ"]),
        ("c++ #1 a/b & 50%", ["c", "1", "b", "50"]),
        ("'quoted' don't", ["quot", "don't"]),
        ("", []),
    ],
)
def test_words_are_those_of_lucene(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


def test_long_words_are_cut() -> None:
    assert [len(term) for term in terms("x" * 600)] == [255, 255, 90]


@pytest.mark.parametrize(
    ("length", "coded"), [(0, 0), (23, 23), (39, 39), (40, 40), (41, 40), (42, 42), (258, 248), (2000, 1944)]
)
def test_lengths_lose_what_one_byte_cannot_hold(length: int, coded: int) -> None:
    assert bm25.one_byte_length(length) == coded


@given(st.text(max_size=200))
def test_any_text_can_be_analysed(text: str) -> None:
    assert all(term for term in terms(text))


@pytest.mark.parametrize("unit", ["a_", "1,", "a'", "'s ", "\u200d", "✔\u200d", "1_a", 'א"', "#\ufe0f"])
def test_analysis_takes_linear_time(unit: str) -> None:
    terms("warm up")
    began = time.process_time()  # a pattern that backtracks would take minutes
    terms(unit * 2000)
    assert time.process_time() - began < 10
