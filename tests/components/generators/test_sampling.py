"""Counter-based sampling by itself."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tsrflow.components.generators.sampling import sample, uniforms


def seeds(*values: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return np.array(values, dtype=np.uint64)


def test_draws_are_even_and_independent_of_seed_and_position() -> None:
    many = np.arange(4000, dtype=np.uint64)
    draws = np.stack([uniforms(many, t) for t in range(3)])
    assert ((draws >= 0) & (draws < 1)).all()
    for row in draws:
        counts = np.histogram(row, bins=20, range=(0, 1))[0]
        assert ((counts - 200) ** 2 / 200).sum() < 43.8  # 99.9 % quantile at 19 degrees of freedom
    correlations = np.corrcoef(draws)[np.triu_indices(3, 1)]
    assert (abs(correlations) < 0.06).all()
    assert abs(np.corrcoef(draws[0][:-1], draws[0][1:])[0, 1]) < 0.06


def test_a_draw_depends_on_its_own_seed_only() -> None:
    together = uniforms(seeds(5, 2**64 - 1, 0, 5), 7)
    assert together[0] == together[3]
    assert [uniforms(seeds(s), 7)[0] for s in (5, 2**64 - 1, 0)] == together[:3].tolist()


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.floats(-8, 8) | st.just(-float("inf")), min_size=2, max_size=9),
    st.floats(0, 1, exclude_max=True),
    st.sampled_from([0.3, 1.0, 2.5]),
    st.sampled_from([torch.float32, torch.float64, torch.bfloat16]),
)
def test_the_draw_is_inverted_through_the_cumulative_distribution(
    row: list[float], uniform: float, temperature: float, dtype: torch.dtype
) -> None:
    if all(value == -float("inf") for value in row):
        row[0] = 0.0
    logits = torch.tensor([row], dtype=dtype)
    token, logprob = sample(logits, temperature, np.array([uniform]))
    probabilities = torch.softmax(logits.double() / temperature, -1)[0]
    chosen = int(token)
    assert probabilities[chosen] > 0
    assert float(logprob) == pytest.approx(float(torch.log(probabilities[chosen])), abs=1e-5)
    below, above = float(probabilities[:chosen].sum()), float(probabilities[: chosen + 1].sum())
    assert below - 1e-6 <= uniform <= above + 1e-6


@pytest.mark.parametrize("uniform", [0.0, 1 - 2.0**-53])
def test_the_ends_of_the_unit_interval_never_give_an_impossible_token(uniform: float) -> None:
    nothing = -float("inf")
    logits = torch.tensor([[nothing, nothing, 0.1, 0.3, nothing]], dtype=torch.float64)
    assert int(sample(logits, 1.0, np.array([uniform]))[0]) == (2 if uniform == 0 else 3)


def test_temperature_zero_takes_the_likeliest_token_and_the_lowest_id_among_equals() -> None:
    logits = torch.tensor([[0.0, 2.0, 2.0], [5.0, 1.0, 1.0]])
    tokens, logprobs = sample(logits, 0, np.array([0.9, 0.9]))
    assert tokens.tolist() == [1, 0]
    assert logprobs.tolist() == pytest.approx(torch.log_softmax(logits, -1)[[0, 1], [1, 0]].tolist())
