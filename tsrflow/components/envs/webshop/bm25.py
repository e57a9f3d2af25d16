"""Lucene's BM25 (k1 0.9, b 0.4) over NumPy arrays: the same float32 scores, hence the same rankings.

What makes the difference to a textbook BM25: lengths go through Lucene's one-byte code, each term's score is computed
in float32, their sum is rounded to float32, and equal scores are ordered by document id. The arrays are read only and
may be memory-mapped; letters: N documents, V terms, P postings.
"""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tsrflow.components.envs.webshop.tokens import terms

K1, B = np.float32(0.9), np.float32(0.4)
TOP = 50
"""Hits per query, as the original asks for."""
_BLOCK = 20_000
_ONE = np.float32(1)


@dataclass(frozen=True, slots=True, eq=False)
class Index:
    """Inverted index. ``keys`` uint64 [V] sorted 64-bit hashes of terms, ``starts`` int64 [V+1] into the postings,
    ``documents`` int32 [P] and ``counts`` uint16 [P], ``norms`` float32 [N] (inverse length norms), ``ranks`` int32 [N]
    (position of each document by id)."""

    keys: NDArray[np.uint64]
    starts: NDArray[np.int64]
    documents: NDArray[np.int32]
    counts: NDArray[np.uint16]
    norms: NDArray[np.float32]
    ranks: NDArray[np.int32]
    described: int
    """Documents with at least one term: the number idf counts with."""

    def search(self, query: str, top: int = TOP) -> tuple[int, ...]:
        """The best ``top`` documents that share a term with ``query``, best first."""
        return tuple(document for document, _ in self.scored(query, top))

    def scored(self, query: str, top: int = TOP) -> list[tuple[int, float]]:
        """(document, score) of the best ``top`` documents."""
        total = np.zeros(len(self.norms), dtype=np.float64)
        for term, repeats in Counter(terms(query)).items():
            documents, counts = self._postings(term)
            if len(documents):
                total[documents] += self._term_scores(documents, counts, repeats)
        scores = total.astype(np.float32)
        found = np.flatnonzero(scores)
        if len(found) > 4 * top:  # narrow down before the exact ordering; ties at the edge all stay in
            edge = np.partition(scores[found], len(found) - top)[len(found) - top]
            found = found[scores[found] >= edge]
        order = np.lexsort((self.ranks[found], -scores[found]))[:top]
        return [(int(document), float(scores[document])) for document in found[order]]

    def _postings(self, term: str) -> tuple[NDArray[np.int32], NDArray[np.uint16]]:
        key = np.uint64(term_key(term))
        place = int(np.searchsorted(self.keys, key))
        if place == len(self.keys) or self.keys[place] != key:
            return self.documents[:0], self.counts[:0]
        span = slice(int(self.starts[place]), int(self.starts[place + 1]))
        return self.documents[span], self.counts[span]

    def _term_scores(
        self, documents: NDArray[np.int32], counts: NDArray[np.uint16], repeats: int
    ) -> NDArray[np.float32]:
        frequency = len(documents)
        idf = np.float32(np.log(1.0 + (self.described - frequency + 0.5) / (frequency + 0.5)))
        weight = np.float32(repeats) * idf
        scores: NDArray[np.float32] = weight - weight / (_ONE + counts.astype(np.float32) * self.norms[documents])
        return scores

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything but ``described``, by name."""
        return {
            "keys": self.keys,
            "starts": self.starts,
            "documents": self.documents,
            "counts": self.counts,
            "norms": self.norms,
            "ranks": self.ranks,
        }


def term_key(term: str) -> int:
    """64-bit hash under which a term is found."""
    return int.from_bytes(hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def build(ids: Sequence[str], texts: Iterable[str]) -> Index:
    """Index ``texts``, of which each is read once and forgotten; ``ids`` may still be growing while they are read."""
    vocabulary: dict[str, int] = {}
    lengths = array("q")
    pending = array("q")
    blocks: list[tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.uint16]]] = []
    for number, text in enumerate(texts):
        found = terms(text)
        lengths.append(len(found))
        base = number << 32
        pending.extend(base | vocabulary.setdefault(term, len(vocabulary)) for term in found)
        if (number + 1) % _BLOCK == 0:
            blocks.append(_block(pending))
            pending = array("q")
    blocks.append(_block(pending))
    return _assemble(vocabulary, blocks, np.frombuffer(lengths, dtype=np.int64), ids)


def _block(pending: array[int]) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.uint16]]:
    """(terms, documents, counts) of the postings in ``pending``, by document."""
    pairs, counts = np.unique(np.frombuffer(pending, dtype=np.int64), return_counts=True)
    largest = np.iinfo(np.uint16).max
    return (
        (pairs & 0xFFFFFFFF).astype(np.int32),
        (pairs >> 32).astype(np.int32),
        np.minimum(counts, largest).astype(np.uint16),
    )


def _assemble(
    vocabulary: dict[str, int],
    blocks: list[tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.uint16]]],
    lengths: NDArray[np.int64],
    ids: Sequence[str],
) -> Index:
    keys = np.fromiter((term_key(term) for term in vocabulary), dtype=np.uint64, count=len(vocabulary))
    order = np.argsort(keys)
    place = np.empty(len(keys), dtype=np.int32)
    place[order] = np.arange(len(keys), dtype=np.int32)
    keys = keys[order]
    if len(keys) > 1 and bool((keys[1:] == keys[:-1]).any()):
        raise ValueError("two terms of the catalogue have the same 64-bit hash")  # about one in 10**7 catalogues
    sizes = np.zeros(len(keys) + 1, dtype=np.int64)
    for of_term, _, _ in blocks:
        sizes[1:] += np.bincount(place[of_term], minlength=len(keys))
    starts = np.cumsum(sizes)
    documents = np.empty(int(starts[-1]), dtype=np.int32)
    counts = np.empty(int(starts[-1]), dtype=np.uint16)
    filled = starts[:-1].copy()
    for of_term, of_document, count in blocks:
        terms_here = place[of_term]
        by_term = np.argsort(terms_here, kind="stable")
        terms_here = terms_here[by_term]
        first = np.searchsorted(terms_here, terms_here, side="left")
        target = filled[terms_here] + np.arange(len(terms_here)) - first
        documents[target], counts[target] = of_document[by_term], count[by_term]
        filled += np.bincount(terms_here, minlength=len(keys))
    described = int((lengths > 0).sum())
    return Index(keys, starts, documents, counts, _norms(lengths, described), _ranks(ids), described)


def _norms(lengths: NDArray[np.int64], described: int) -> NDArray[np.float32]:
    """1 / (k1 * (1 - b + b * length / mean length)) with lengths as their one-byte codes decode."""
    distinct, inverse = np.unique(lengths, return_inverse=True)
    coded = np.asarray([one_byte_length(int(n)) for n in distinct], dtype=np.float32)[inverse]
    mean = np.float32(int(lengths.sum()) / max(described, 1))
    if mean == 0:
        return np.zeros(len(lengths), dtype=np.float32)
    norms: NDArray[np.float32] = _ONE / (K1 * ((_ONE - B) + B * coded / mean))
    return norms


def _ranks(ids: Sequence[str]) -> NDArray[np.int32]:
    ranks = np.empty(len(ids), dtype=np.int32)
    ranks[sorted(range(len(ids)), key=ids.__getitem__)] = np.arange(len(ids), dtype=np.int32)
    return ranks


def one_byte_length(length: int) -> int:
    """``length`` after Lucene's one-byte code: exact up to 40, then four significant bits of what exceeds 24."""
    free = 24
    if length < free:
        return length
    rest = length - free
    shift = max(rest.bit_length() - 4, 0)
    return free + (rest >> shift << shift)
