"""Asking a scorer, and refusing what is not an answer: a wrong count, or a number that cannot be compared."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tsrflow.errors import RunError
from tsrflow.protocols import Scorer
from tsrflow.types import ScoringContext


def score_contexts(scorer: Scorer, contexts: Sequence[ScoringContext]) -> list[float]:
    """One finite float per context. Raises RunError that names the scorer where it fails to give that."""
    if not contexts:
        return []
    name = type(scorer).__name__
    try:
        scores = [float(score) for score in scorer.score(contexts)]
    except Exception as error:  # scorers are third-party code
        raise RunError(f"scorer {name} raised {type(error).__name__}: {error}") from error
    if len(scores) != len(contexts):
        raise RunError(f"scorer {name} returned {len(scores)} scores for {len(contexts)} prefixes")
    for score, context in zip(scores, contexts, strict=True):
        if not math.isfinite(score):
            raise RunError(
                f"scorer {name} returned {score} for a prefix of {context.task.id} after turn {context.depth}; "
                "scores must be finite numbers"
            )
    return scores
