"""Selected log-probs and entropy from hidden states: right at any temperature, and in chunks equal to the whole."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.components.optimizers import reference
from tsrflow.components.optimizers import logprobs as module
from tsrflow.components.optimizers.logprobs import logprobs_from_logits, token_logprobs

TOKENS, HIDDEN, VOCABULARY = 23, 5, 17


def head(seed: int = 0, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Hidden states, weight and bias as trainable leaves, and ids."""
    rng = torch.Generator().manual_seed(seed)
    hidden = torch.randn(TOKENS, HIDDEN, generator=rng, dtype=dtype)
    weight = torch.randn(VOCABULARY, HIDDEN, generator=rng, dtype=dtype)
    bias = torch.randn(VOCABULARY, generator=rng, dtype=dtype)
    ids = torch.randint(0, VOCABULARY, (TOKENS,), generator=rng)
    return hidden.requires_grad_(), weight.requires_grad_(), bias.requires_grad_(), ids


@pytest.mark.parametrize("temperature", [0.25, 0.5, 1.0, 1.7, 10.0])
def test_logprobs_and_entropy_equal_the_reference(temperature: float) -> None:
    hidden, weight, bias, ids = head(1)
    logits = (hidden @ weight.T + bias).detach()
    found = token_logprobs(hidden, weight, bias, ids, temperature, chunk=4)
    again = logprobs_from_logits(logits, ids, temperature)
    for n in range(TOKENS):
        row = logits[n].tolist()
        expected = reference.softmax_logprob(row, int(ids[n]), temperature), reference.entropy(row, temperature)
        for result in (found, again):
            assert result[0][n].item() == pytest.approx(expected[0], rel=1e-10)
            assert result[1][n].item() == pytest.approx(expected[1], rel=1e-10, abs=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, TOKENS + 3), st.booleans(), st.sampled_from([0.5, 1.0, 2.0]))
def test_chunked_equals_whole_with_gradients(chunk: int, biased: bool, temperature: float) -> None:
    results = []
    for size in (chunk, TOKENS):
        hidden, weight, bias, ids = head(2)
        logprobs, entropy = token_logprobs(hidden, weight, bias if biased else None, ids, temperature, size)
        torch.autograd.backward((logprobs * torch.arange(TOKENS) + 0.3 * entropy).sum())
        results.append([logprobs, entropy, hidden.grad, weight.grad, *([bias.grad] if biased else [])])
    for a, b in zip(*results, strict=True):
        assert a is not None and b is not None
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-12)


def saved_elements(chunk: int | None) -> int:
    """Elements that autograd keeps for the backward pass, tensors of parameters not counted."""
    hidden, weight, bias, ids = head(3)
    storages = {leaf.untyped_storage().data_ptr() for leaf in (hidden, weight, bias, ids)}
    kept: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        pointer = tensor.untyped_storage().data_ptr()
        if pointer not in storages:
            kept[pointer] = tensor.numel()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        outputs = token_logprobs(hidden, weight, bias, ids, 1.0, chunk)
    assert all(output.requires_grad for output in outputs)
    return sum(kept.values())


def test_chunks_keep_no_logits_for_the_backward_pass() -> None:
    assert saved_elements(None) >= TOKENS * VOCABULARY
    assert saved_elements(4) <= 4 * TOKENS


def test_the_default_chunk_bounds_the_logits_that_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []

    def watched(logits: Tensor, ids: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
        sizes.append(logits.numel())
        return logprobs_from_logits(logits, ids, temperature)

    monkeypatch.setattr(module, "LOGITS_AT_ONCE", 5 * VOCABULARY + 3)
    monkeypatch.setattr(module, "logprobs_from_logits", watched)
    hidden, weight, bias, ids = head(4)
    token_logprobs(hidden, weight, bias, ids, 1.0)
    assert sizes == [5 * VOCABULARY] * 4 + [3 * VOCABULARY]


def test_half_precision_is_normalised_in_float32() -> None:
    hidden, weight, bias, ids = head(5, torch.bfloat16)
    logprobs, entropy = token_logprobs(hidden, weight, bias, ids, 1.0, chunk=6)
    assert logprobs.dtype == entropy.dtype == torch.float32
    logits = torch.nn.functional.linear(hidden, weight, bias).float()
    torch.testing.assert_close(logprobs, torch.log_softmax(logits, -1)[torch.arange(TOKENS), ids])


def test_no_tokens_is_an_empty_result_with_a_graph() -> None:
    hidden, weight, bias, _ = head(6)
    logprobs, entropy = token_logprobs(hidden[:0], weight, bias, torch.zeros(0, dtype=torch.int64), 1.0)
    assert logprobs.shape == entropy.shape == (0,)
    torch.autograd.backward(logprobs.sum() + entropy.sum())
    assert hidden.grad is not None and not hidden.grad.any()


def test_extreme_logits_stay_finite() -> None:
    logits = torch.tensor([[1e4, -1e4, 0.0]], requires_grad=True)
    logprobs, entropy = logprobs_from_logits(logits, torch.tensor([1]), 0.1)
    torch.autograd.backward((logprobs + entropy).sum())
    assert logits.grad is not None
    assert all(torch.isfinite(x).all() for x in (logprobs, entropy, logits.grad))
