"""Every rule of the generator contract, broken on purpose by a small generator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from tests.components.generators.tiny import generator as transformers_generator
from tests.components.generators.tiny import prompt, qwen2
from tsrflow import streams
from tsrflow.testing import ContractError, ScriptedGenerator, check_generator
from tsrflow.types import FinishReason, GenerationRequest, SampledTurn

PROMPTS = [[1, 2, 3], [4], [5, 6, 7, 8, 9]]
STOP = 3


class Custom:
    """Samples evenly from ten tokens, by the seed alone; a test replaces one part."""

    version: Any = 0
    stop_ids: Any = frozenset({STOP})

    def generate(self, requests: Sequence[GenerationRequest], temperature: float | None = None) -> Any:
        return [[self.turn(request, seed, temperature) for seed in request.seeds] for request in requests]

    def turn(self, request: GenerationRequest, seed: int, temperature: float | None) -> Any:
        tokens = self.tokens(request, 0 if temperature == 0 else seed, request.max_tokens)
        finish = FinishReason.STOP if tokens[-1] == STOP else FinishReason.LENGTH
        return SampledTurn(np.array(tokens, np.int32), np.full(len(tokens), -2.3, np.float32), finish)

    def tokens(self, request: GenerationRequest, seed: int, most: int) -> list[int]:
        tokens: list[int] = []
        while len(tokens) < most and STOP not in tokens:
            tokens.append(streams.fold(seed, int(request.prompt_ids.sum()), len(tokens)) % 10)
        return tokens

    def sync(self, model: Any, version: int) -> None: ...

    def close(self) -> None: ...


def test_the_generator_that_the_others_spoil_is_fine() -> None:
    check_generator(Custom(), PROMPTS)


def test_built_in_generators_keep_the_contract() -> None:
    check_generator(transformers_generator(qwen2()), [prompt(n, n).tolist() for n in (5, 1, 20)])
    check_generator(ScriptedGenerator(lambda text, seed: "abc"[: 1 + seed % 3]), [[97, 98], [99]])


def spoil(**parts: Any) -> Custom:
    return type("Broken", (Custom,), parts)()


def returning(change: Callable[[SampledTurn], Any]) -> Custom:
    """One that changes every turn it returns."""
    return spoil(turn=lambda self, *args: change(Custom.turn(self, *args)))


def batched(change: Callable[[Sequence[GenerationRequest], list[Any]], Any]) -> Custom:
    return spoil(
        generate=lambda self, requests, temperature=None: change(requests, Custom.generate(self, requests, temperature))
    )


def with_tokens(turn: SampledTurn, tokens: list[int], finish: FinishReason) -> SampledTurn:
    return SampledTurn(np.array(tokens, np.int32), np.full(len(tokens), -1.0, np.float32), finish)


def overwrite(requests: Sequence[GenerationRequest], results: list[Any]) -> list[Any]:
    for request in requests:
        request.prompt_ids[:] = 0
    return results


def shifted(requests: Sequence[GenerationRequest], results: list[Any]) -> list[Any]:
    """Mixes up whose turns are whose, where the first prompt is not the longest."""
    if len(requests) > 1 and len(requests[0].prompt_ids) < len(requests[-1].prompt_ids):
        return [[with_tokens(t, [*t.token_ids.tolist()[:-1], STOP], FinishReason.STOP) for t in r] for r in results]
    return results


class Counting(Custom):
    """Advances one stream instead of folding seeds."""

    count = 0

    def tokens(self, request: GenerationRequest, seed: int, most: int) -> list[int]:
        Counting.count += seed != 0
        return super().tokens(request, seed + Counting.count * (seed != 0), most)


def beside(self: Custom, requests: Sequence[GenerationRequest], temperature: float | None = None) -> Any:
    size = sum(len(request.seeds) for request in requests)
    moved = [
        GenerationRequest(r.prompt_ids, tuple(s + 1000 * (size > 1) for s in r.seeds), r.max_tokens) for r in requests
    ]
    return Custom.generate(self, moved, temperature)


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (spoil(stop_ids=frozenset()), r"stop_ids is frozenset\(\); it must be a non-empty frozenset"),
        (spoil(stop_ids=[STOP]), r"stop_ids is \[3\]; it must be a non-empty frozenset"),
        (spoil(version=None), "version is None; it must be a whole number"),
        (spoil(close=None), r"has no method close\(\)"),
        (batched(lambda requests, results: results or [[]]), r"must return one list per request \(0\)"),
        (batched(lambda requests, results: results[1:]), r"must return one list per request \(3\)"),
        (batched(lambda requests, results: [turns[1:] for turns in results]), "returned 2 turns for 3 seeds"),
        (batched(overwrite), r"generate\(\) changed a prompt in place"),
        (batched(lambda requests, results: 1 // 0), r"generate\(\) raised ZeroDivisionError"),
        (returning(lambda turn: turn.token_ids), "turns must be SampledTurn"),
        (
            returning(lambda turn: SampledTurn(turn.token_ids.astype(np.int64), turn.logprobs, turn.finish)),
            "token_ids and logprobs are int64 and float32",
        ),
        (
            returning(lambda turn: SampledTurn(turn.token_ids, turn.logprobs.astype(np.float64), turn.finish)),
            "token_ids and logprobs are int32 and float64",
        ),
        (returning(lambda turn: with_tokens(turn, [], turn.finish)), "sampled 0 tokens where 1 to 12 were allowed"),
        (
            returning(lambda turn: with_tokens(turn, [1] * 13, FinishReason.LENGTH)),
            "sampled 13 tokens where 1 to 12 were allowed",
        ),
        (
            returning(lambda turn: SampledTurn(turn.token_ids, turn.logprobs * np.float32("nan"), turn.finish)),
            "log-probs must be finite and not above 0",
        ),
        (
            returning(lambda turn: SampledTurn(turn.token_ids, -turn.logprobs, turn.finish)),
            "log-probs must be finite and not above 0",
        ),
        (
            returning(lambda turn: with_tokens(turn, [STOP, 1], FinishReason.LENGTH)),
            r"went on after a stop id: \[3, 1\] with stop ids \[3\]",
        ),
        (
            returning(lambda turn: with_tokens(turn, [1, STOP], FinishReason.LENGTH)),
            "finish is .*LENGTH.* must be .*STOP",
        ),
        (returning(lambda turn: with_tokens(turn, [1, 1], FinishReason.STOP)), "finish is .*STOP.* must be .*LENGTH"),
        (
            returning(lambda turn: with_tokens(turn, [1], FinishReason.LENGTH)),
            "ended without a stop id although 12 were",
        ),
        (
            spoil(turn=lambda self, request, seed, temperature: Custom.turn(self, request, seed, None)),
            "temperature 0 must be greedy, but the seed changes the turn",
        ),
        (
            spoil(turn=lambda self, request, seed, temperature: Custom.turn(self, request, 7, None)),
            "24 seeds at temperature 5 gave one and the same turn",
        ),
        (Counting(), "gave other turns the second time; chance must come from the seeds alone"),
        (batched(shifted), "turns depend on the order of the requests"),
        (spoil(generate=beside), "seed 0 gives another turn alone than beside others"),
    ],
)
def test_each_broken_rule_has_its_message(broken: Custom, message: str) -> None:
    with pytest.raises(ContractError, match=message):
        check_generator(broken, PROMPTS)


@pytest.mark.parametrize("broken", [Counting(), batched(shifted), spoil(generate=beside)])
def test_engines_that_promise_less_are_not_asked_for_exactness(broken: Custom) -> None:
    check_generator(broken, PROMPTS, exact=False)
