"""Contract of generators, checked by sampling turns from a few prompts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tsrflow.protocols import Generator
from tsrflow.testing.contract import ContractError, name_of, require
from tsrflow.types import FinishReason, GenerationRequest, SampledTurn


def check_generator(
    generator: Generator, prompts: Sequence[Sequence[int]], *, max_tokens: int = 12, exact: bool = True
) -> None:
    """Raise ContractError for the first rule of ``Generator`` that ``generator`` breaks.

    ``prompts`` are at least two different token sequences that its model knows. ``exact=False`` leaves out what engines
    on a GPU do not promise: the same turn from the same seed, whatever else is in the batch.
    """
    for name in ("generate", "sync", "close"):
        require(callable(getattr(generator, name, None)), generator, f"has no method {name}()")
    ids = getattr(generator, "stop_ids", None)
    known = isinstance(ids, frozenset) and bool(ids) and all(isinstance(i, int) for i in ids)
    require(known, generator, f"stop_ids is {ids!r}; it must be a non-empty frozenset of token ids")
    version = generator.version
    rule = f"version is {version!r}; it must be a whole number"
    require(isinstance(version, int) and not isinstance(version, bool), generator, rule)
    require(_ask(generator, []) == [], generator, "generate([]) must return an empty list")

    requests = [
        GenerationRequest(np.asarray(prompt, np.int32), tuple(range(100 * i, 100 * i + 3)), max(1, max_tokens - i))
        for i, prompt in enumerate(prompts)
    ]
    results = _ask(generator, requests)
    _check_temperatures(generator, requests[0])
    if exact:
        _check_exact(generator, requests, results)


def _ask(
    generator: Generator, requests: Sequence[GenerationRequest], temperature: float | None = None
) -> list[list[SampledTurn]]:
    before = [request.prompt_ids.tolist() for request in requests]
    try:
        results = generator.generate(requests, temperature)
    except Exception as error:
        sizes = [(len(request.prompt_ids), len(request.seeds), request.max_tokens) for request in requests]
        message = (
            f"generate() raised {type(error).__name__}: {error} ((prompt, seeds, max_tokens) of requests: {sizes})"
        )
        raise ContractError(f"{name_of(generator)}: {message}") from error
    require(
        isinstance(results, list) and len(results) == len(requests),
        generator,
        f"generate() must return one list per request ({len(requests)})",
    )
    require(
        [request.prompt_ids.tolist() for request in requests] == before,
        generator,
        "generate() changed a prompt in place",
    )
    for request, turns in zip(requests, results, strict=True):
        rule = f"returned {len(turns)} turns for {len(request.seeds)} seeds"
        require(len(turns) == len(request.seeds), generator, rule)
        for turn in turns:
            _check_turn(generator, request, turn)
    return results


def _check_turn(generator: Generator, request: GenerationRequest, turn: SampledTurn) -> None:
    require(isinstance(turn, SampledTurn), generator, f"returned {turn!r}; turns must be SampledTurn")
    types = (turn.token_ids.dtype, turn.logprobs.dtype)
    rule = f"token_ids and logprobs are {types[0]} and {types[1]}; they must be int32 and float32"
    require(types == (np.dtype(np.int32), np.dtype(np.float32)), generator, rule)
    tokens = turn.token_ids.tolist()
    rule = f"sampled {len(tokens)} tokens where 1 to {request.max_tokens} were allowed"
    require(1 <= len(tokens) <= request.max_tokens, generator, rule)
    fine = bool(np.isfinite(turn.logprobs).all() and (turn.logprobs <= 1e-6).all())
    require(fine, generator, f"log-probs must be finite and not above 0, got {turn.logprobs.tolist()}")
    rule = f"went on after a stop id: {tokens} with stop ids {sorted(generator.stop_ids)}"
    require(not generator.stop_ids & set(tokens[:-1]), generator, rule)
    stopped = tokens[-1] in generator.stop_ids
    right = FinishReason.STOP if stopped else FinishReason.LENGTH
    require(turn.finish is right, generator, f"finish is {turn.finish!r} for {tokens}; it must be {right!r}")
    require(
        stopped or len(tokens) == request.max_tokens,
        generator,
        f"a turn of {len(tokens)} tokens ended without a stop id although {request.max_tokens} were allowed",
    )


def _check_temperatures(generator: Generator, request: GenerationRequest) -> None:
    many = GenerationRequest(request.prompt_ids, tuple(range(24)), request.max_tokens)
    (greedy,) = _ask(generator, [many], 0)
    require(len(_distinct([greedy])) == 1, generator, "temperature 0 must be greedy, but the seed changes the turn")
    (sampled,) = _ask(generator, [many], 5.0)
    require(len(_distinct([sampled])) > 1, generator, "24 seeds at temperature 5 gave one and the same turn")


def _check_exact(
    generator: Generator, requests: Sequence[GenerationRequest], results: Sequence[Sequence[SampledTurn]]
) -> None:
    expected = [_tokens(turns) for turns in results]
    rule = "the same requests gave other turns the second time; chance must come from the seeds alone"
    require([_tokens(turns) for turns in _ask(generator, requests)] == expected, generator, rule)
    turned = [_tokens(turns) for turns in _ask(generator, requests[::-1])][::-1]
    require(turned == expected, generator, "turns depend on the order of the requests")
    for request, tokens in zip(requests, expected, strict=True):
        for position, seed in enumerate(request.seeds):
            ((alone,),) = _ask(generator, [GenerationRequest(request.prompt_ids, (seed,), request.max_tokens)])
            rule = f"seed {seed} gives another turn alone than beside others"
            require(alone.token_ids.tolist() == tokens[position], generator, rule)


def _tokens(turns: Sequence[SampledTurn]) -> list[list[int]]:
    return [turn.token_ids.tolist() for turn in turns]


def _distinct(results: Sequence[Sequence[SampledTurn]]) -> set[tuple[int, ...]]:
    return {tuple(tokens) for turns in results for tokens in _tokens(turns)}
