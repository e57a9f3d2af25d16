"""Tiny random Qwen2 policies, and the plain way to compute what they would say."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from transformers import Qwen2Config, Qwen2ForCausalLM

from tsrflow.components.generators.config import TransformersGeneratorConfig
from tsrflow.components.generators.transformers import TransformersGenerator
from tsrflow.types import GenerationRequest, SampledTurn

VOCABULARY = 23
STOPS = frozenset({3, 7})


def qwen2(seed: int = 0, dtype: torch.dtype = torch.float32, attention: str = "sdpa") -> Any:
    """A two-layer model whose distributions are neither flat nor certain."""
    torch.manual_seed(seed)
    config = Qwen2Config(
        vocab_size=VOCABULARY,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=256,
        initializer_range=0.4,
        attn_implementation=attention,
    )
    return Qwen2ForCausalLM(config).to(dtype).eval()


def generator(model: Any, stops: frozenset[int] = STOPS, **options: Any) -> TransformersGenerator:
    return TransformersGenerator(TransformersGeneratorConfig(**options), model=model, stop_ids=stops)


def prompt(length: int, seed: int = 0) -> np.ndarray[Any, np.dtype[np.int32]]:
    return np.random.default_rng(seed).integers(0, VOCABULARY, length).astype(np.int32)


def request(length: int = 6, seeds: tuple[int, ...] = (1,), most: int = 12, seed: int = 0) -> GenerationRequest:
    return GenerationRequest(prompt(length, seed), seeds, most)


def ids(turns: list[SampledTurn]) -> list[list[int]]:
    return [turn.token_ids.tolist() for turn in turns]


@torch.no_grad()
def reference_logprobs(model: Any, prefix: Any, turn: SampledTurn, temperature: float) -> list[float]:
    """Log-softmax of one full forward pass without cache, padding or batch, at ``temperature``."""
    whole = torch.tensor([[*prefix.tolist(), *turn.token_ids.tolist()]])
    logits = model(input_ids=whole).logits[0, len(prefix) - 1 : -1].double()
    rows = torch.log_softmax(logits / temperature, -1)
    return [float(row[token]) for row, token in zip(rows, turn.token_ids.tolist(), strict=True)]
