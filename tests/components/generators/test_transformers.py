"""``generator=transformers`` against full forward passes of the same model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.components.generators.tiny import (
    STOPS,
    VOCABULARY,
    generator,
    ids,
    prompt,
    qwen2,
    reference_logprobs,
    request,
)
from tsrflow.types import FinishReason, GenerationRequest


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("temperature", [0.5, 1.0, 1.7])
@pytest.mark.parametrize(("dtype", "close"), [("auto", 2e-6), ("float64", 2e-6), ("float32", 2e-4)])
def test_logprobs_are_those_of_a_full_forward_pass_at_the_sampling_temperature(
    attention: str, temperature: float, dtype: str, close: float
) -> None:
    model = qwen2(attention=attention)
    requests = [request(length, (1, 2, 3), seed=length) for length in (1, 5, 17, 9)]
    results = generator(model, temperature=temperature, dtype=dtype).generate(requests)
    exact = qwen2().double()
    for asked, turns in zip(requests, results, strict=True):
        for turn in turns:
            expected = reference_logprobs(exact, asked.prompt_ids, turn, temperature)
            assert turn.logprobs.tolist() == pytest.approx(expected, abs=close)
            assert (turn.token_ids.dtype, turn.logprobs.dtype) == (np.int32, np.float32)


def test_a_temperature_of_the_call_replaces_the_configured_one() -> None:
    model = qwen2()
    turns = generator(model, temperature=1.0).generate([request(seeds=(1, 2, 3))], 0.4)[0]
    assert ids(turns) == ids(generator(model, temperature=0.4).generate([request(seeds=(1, 2, 3))])[0])
    assert turns[0].logprobs.tolist() == pytest.approx(
        reference_logprobs(model, request().prompt_ids, turns[0], 0.4), abs=2e-5
    )


def test_every_stop_id_ends_a_turn_and_is_its_last_token() -> None:
    turns = generator(qwen2()).generate([request(seeds=tuple(range(200)), most=30)])[0]
    ends = set()
    for turn in turns:
        inside, last = turn.token_ids[:-1].tolist(), int(turn.token_ids[-1])
        assert not STOPS & set(inside)
        assert (turn.finish is FinishReason.STOP) == (last in STOPS)
        assert turn.finish is FinishReason.STOP or len(turn.token_ids) == 30
        ends.add(last if last in STOPS else None)
    assert ends >= STOPS


def test_a_stop_id_on_the_last_allowed_token_still_counts_as_a_stop() -> None:
    turns = generator(qwen2(), frozenset(range(VOCABULARY))).generate([request(most=1)])[0]
    assert [(len(turn.token_ids), turn.finish) for turn in turns] == [(1, FinishReason.STOP)]


def test_each_request_has_a_token_budget_of_its_own() -> None:
    requests = [request(5, (1, 2), most=most, seed=most) for most in (1, 4, 9)]
    results = generator(qwen2(), frozenset()).generate(requests)
    assert [[len(turn.token_ids) for turn in turns] for turns in results] == [[1, 1], [4, 4], [9, 9]]
    assert {turn.finish for turns in results for turn in turns} == {FinishReason.LENGTH}


def test_a_larger_budget_only_adds_tokens() -> None:
    model = qwen2()
    short, long = (generator(model, frozenset()).generate([request(most=most)])[0][0] for most in (5, 11))
    assert long.token_ids[:5].tolist() == short.token_ids.tolist()


def test_candidates_of_one_prefill_are_those_sampled_alone_with_the_same_seeds() -> None:
    policy, seeds = generator(qwen2(dtype=torch.float64)), tuple(range(50, 62))
    together = policy.generate([request(seeds=seeds)])[0]
    alone = [policy.generate([request(seeds=(seed,))])[0][0] for seed in seeds]
    assert ids(together) == ids(alone)
    assert len({tuple(tokens) for tokens in ids(together)}) > 6
    for one, other in zip(together, alone, strict=True):
        assert one.logprobs.tolist() == pytest.approx(other.logprobs.tolist(), abs=1e-6)


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_in_float64_a_sequence_does_not_care_who_shares_its_batch(attention: str) -> None:
    policy = generator(qwen2(attention=attention), dtype="float64")
    random = np.random.default_rng(3)
    pool = [
        GenerationRequest(
            prompt(int(random.integers(1, 40)), i),
            tuple(int(s) for s in random.integers(0, 2**63, random.integers(1, 4))),
            int(random.integers(1, 16)),
        )
        for i in range(24)
    ]
    alone = [ids(policy.generate([one])[0]) for one in pool]
    for _ in range(12):
        chosen = random.permutation(len(pool))[: random.integers(2, len(pool))]
        for index, turns in zip(chosen, policy.generate([pool[i] for i in chosen]), strict=True):
            assert ids(turns) == alone[index]


def test_seeds_use_all_of_their_64_bits() -> None:
    policy = generator(qwen2())
    turns = policy.generate([request(seeds=(1, 1 + 2**63, 1 + 2**40, 2**64 - 1, 1))])[0]
    assert ids(turns)[0] == ids(turns)[4]
    assert len({tuple(tokens) for tokens in ids(turns)}) == 4


def test_greedy_decoding_takes_the_likeliest_token_every_time() -> None:
    model = qwen2(dtype=torch.float64)
    asked = [request(8, (1, 2), most=10, seed=4), request(3, (9,), most=10, seed=5)]
    results = generator(model).generate(asked, 0)
    assert ids(results[0])[0] == ids(results[0])[1]
    for one, turns in zip(asked, results, strict=True):
        sequence = one.prompt_ids.tolist()
        for token in turns[0].token_ids.tolist():
            with torch.no_grad():
                logits = model(input_ids=torch.tensor([sequence])).logits[0, -1]
            assert token == int(logits.argmax())
            sequence.append(token)


def test_chunking_by_tokens_changes_nothing_but_the_size_of_batches() -> None:
    model = qwen2(dtype=torch.float64)
    requests = [request(length, (1, 2, 3), most=length % 5 + 1, seed=length) for length in (30, 3, 12, 25, 7, 1)]
    sizes: list[int] = []
    hook = model.register_forward_hook(
        lambda module, args, kwargs, output: sizes.append(kwargs["input_ids"].shape[0]), with_kwargs=True
    )
    whole = generator(model).generate(requests)
    largest = max(sizes)
    sizes.clear()
    for budget in (1, 60, 150):
        pieces = generator(model, batch_tokens=budget).generate(requests)
        assert [ids(turns) for turns in pieces] == [ids(turns) for turns in whole]
        assert max(sizes) < largest
        sizes.clear()
    hook.remove()


def test_no_requests_are_no_work() -> None:
    assert generator(qwen2()).generate([]) == []


def test_a_request_without_seeds_gets_no_turns_and_disturbs_nobody() -> None:
    policy = generator(qwen2(dtype=torch.float64))
    other = request(9, (4, 5), seed=2)
    results = policy.generate([request(5, ()), other])
    assert results[0] == []
    assert policy.generate([request(5, ())]) == [[]]
    assert ids(results[1]) == ids(policy.generate([other])[0])


def test_sampling_frequencies_match_the_probabilities() -> None:
    model, count = qwen2(dtype=torch.float64), 4000
    asked = request(6, tuple(range(count)), most=2, seed=1)
    turns = generator(model, frozenset(), temperature=1.3).generate([asked])[0]
    firsts = np.bincount([int(turn.token_ids[0]) for turn in turns], minlength=VOCABULARY)
    common = int(firsts.argmax())
    seconds = np.bincount(
        [int(turn.token_ids[1]) for turn in turns if turn.token_ids[0] == common], minlength=VOCABULARY
    )
    for prefix, observed in ((asked.prompt_ids.tolist(), firsts), ([*asked.prompt_ids.tolist(), common], seconds)):
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([prefix])).logits[0, -1]
        expected = torch.softmax(logits / 1.3, -1).numpy() * observed.sum()
        likely = expected >= 5
        chi_square = ((observed[likely] - expected[likely]) ** 2 / expected[likely]).sum()
        rest, expected_rest = observed[~likely].sum(), expected[~likely].sum()
        assert likely.sum() > 5
        assert chi_square < 3 * likely.sum()  # beyond the 99.9 % quantile from 6 degrees of freedom on
        assert abs(rest - expected_rest) <= 4 * max(1.0, expected_rest**0.5)


def set_weights(model: Any, seed: int) -> None:
    model.load_state_dict(qwen2(seed).state_dict())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_weights_are_taken_over_by_reference_or_by_copy(dtype: str) -> None:
    model = qwen2()
    policy = generator(model, dtype=dtype)
    asked = [request(seeds=tuple(range(8)))]
    before = ids(policy.generate(asked)[0])
    set_weights(model, 1)
    policy.sync(model, 1)
    after = ids(policy.generate(asked)[0])
    assert before != after
    assert policy.version == 1
    assert after == ids(generator(qwen2(1), dtype=dtype).generate(asked)[0])
    other = qwen2(2)
    policy.sync(other, 2)
    assert ids(policy.generate(asked)[0]) == ids(generator(qwen2(2), dtype=dtype).generate(asked)[0])


def test_a_copy_keeps_the_weights_of_the_last_sync() -> None:
    model = qwen2()
    policy = generator(model, dtype="float64")
    asked = [request(seeds=tuple(range(8)))]
    before = ids(policy.generate(asked)[0])
    set_weights(model, 1)
    assert ids(policy.generate(asked)[0]) == before
    assert all(p.dtype == torch.float32 and p.requires_grad for p in model.parameters())


def test_a_small_model_on_the_cpu_samples_in_float64_unless_told_otherwise() -> None:
    model = qwen2()
    seen: list[torch.dtype] = []
    for dtype in ("auto", "float32"):
        policy = generator(model, dtype=dtype)
        policy._model.register_forward_hook(lambda m, a, output: seen.append(output.logits.dtype))
        policy.generate([request(most=1)])
    assert seen == [torch.float64, torch.float32]


def test_sampling_leaves_the_trainers_model_as_it_was() -> None:
    model = qwen2().train()
    generator(model, dtype="float32").generate([request()])
    assert model.training
    assert all(p.grad is None for p in model.parameters())
    with torch.enable_grad():
        loss = model(input_ids=torch.tensor([[1, 2, 3]])).logits.sum()
    loss.backward()
    assert all(torch.isfinite(p.grad).all() for p in model.parameters())


def test_dropout_is_off_while_sampling_in_the_middle_of_training() -> None:
    model = qwen2()
    model.config.attention_dropout = 0.5
    for layer in model.model.layers:
        layer.self_attn.attention_dropout = 0.5
    policy = generator(model, dtype="float32")
    before = ids(policy.generate([request(seeds=tuple(range(6)))])[0])
    model.train()
    assert ids(policy.generate([request(seeds=tuple(range(6)))])[0]) == before


def test_equal_prompts_of_several_requests_are_read_once() -> None:
    model = qwen2(dtype=torch.float64)
    sizes: list[tuple[int, ...]] = []
    hook = model.register_forward_hook(
        lambda module, args, kwargs, output: sizes.append(tuple(kwargs["input_ids"].shape)), with_kwargs=True
    )
    policy = generator(model, frozenset())
    together = policy.generate([request(6, (1, 2), most=3), request(9, (3,), most=3, seed=9), request(6, (4,), most=3)])
    hook.remove()
    assert sizes == [(2, 9), (4, 1), (4, 1)]
    assert ids(together[0]) + ids(together[2]) == ids(policy.generate([request(6, (1, 2, 4), most=3)])[0])
