"""``generator=transformers``: batched sampling with the trainer's own model in the same process.

One prefill per distinct prefix serves all its candidates (the cache rows are repeated), finished sequences leave the
batch. With ``dtype: auto`` a small model on a CPU samples in float64: rounding then practically never changes a token,
so the same seed gives the same turns in any batch.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from transformers.cache_utils import DynamicCache

from tsrflow.components.generators.config import TransformersGeneratorConfig
from tsrflow.components.generators.sampling import sample, uniforms
from tsrflow.types import FinishReason, GenerationRequest, SampledTurn

SMALL_MODEL = 5_000_000
"""Parameters up to which ``dtype: auto`` means float64 on a CPU."""


class TransformersGenerator:
    """Samples from the weights given by the last ``sync``; holds a copy only where its dtype differs."""

    def __init__(self, config: TransformersGeneratorConfig, *, model: Any, stop_ids: frozenset[int]) -> None:
        self.config = config
        self.stop_ids = stop_ids
        self._stop = torch.tensor(sorted(stop_ids), dtype=torch.long)
        self._source: Any = None
        self._model: Any = None
        self._version = 0
        self._cache_argument = "cache" if "cache" in inspect.signature(model.forward).parameters else "past_key_values"
        self.sync(model, 0)

    @property
    def version(self) -> int:
        return self._version

    def sync(self, model: Any, version: int) -> None:
        """Use ``model``'s weights from now on: by reference, or copied into the replica of another dtype."""
        dtype = self._dtype(model)
        if dtype == next(model.parameters()).dtype:
            self._model = model
        elif self._source is model and self._model is not None:
            with torch.no_grad():
                for mine, theirs in zip(self._model.parameters(), model.parameters(), strict=True):
                    mine.copy_(theirs)
                for mine, theirs in zip(self._model.buffers(), model.buffers(), strict=True):
                    mine.copy_(theirs)
        else:
            self._model = _replica(model, dtype)
        self._source = model
        self._version = version

    def generate(
        self, requests: Sequence[GenerationRequest], temperature: float | None = None
    ) -> list[list[SampledTurn]]:
        """One list per request, one turn per seed, in order."""
        heat = self.config.temperature if temperature is None else temperature
        results: list[list[SampledTurn]] = [[] for _ in requests]
        training = self._model.training
        self._model.eval()
        try:
            with torch.inference_mode():
                for chunk in self._chunks(requests):
                    for index, turns in zip(chunk, self._run([requests[i] for i in chunk], heat), strict=True):
                        results[index] = turns
        finally:
            self._model.train(training)
        return results

    def close(self) -> None:
        """Nothing is held besides the weights."""
        self._model = self._source = None

    def _dtype(self, model: Any) -> torch.dtype:
        first = next(model.parameters())
        if self.config.dtype != "auto":
            return {"float32": torch.float32, "float64": torch.float64, "bfloat16": torch.bfloat16}[self.config.dtype]
        small = first.device.type == "cpu" and sum(p.numel() for p in model.parameters()) <= SMALL_MODEL
        return torch.float64 if small and first.dtype == torch.float32 else first.dtype

    def _chunks(self, requests: Sequence[GenerationRequest]) -> Iterator[list[int]]:
        """Indices of requests of similar length whose padded sequences fit ``batch_tokens``."""
        asked = (i for i, request in enumerate(requests) if request.seeds)
        order = sorted(asked, key=lambda i: len(requests[i].prompt_ids))
        chunk: list[int] = []
        rows = 0
        for index in order:
            width = len(requests[index].prompt_ids) + requests[index].max_tokens
            if chunk and (rows + len(requests[index].seeds)) * width > self.config.batch_tokens:
                yield chunk
                chunk, rows = [], 0
            chunk.append(index)
            rows += len(requests[index].seeds)
        if chunk:
            yield chunk

    def _run(self, requests: Sequence[GenerationRequest], temperature: float) -> list[list[SampledTurn]]:
        device = next(self._model.parameters()).device
        row_of: dict[bytes, int] = {}
        origin = torch.tensor(
            [row_of.setdefault(r.prompt_ids.tobytes(), len(row_of)) for r in requests for _ in r.seeds]
        )
        prompts = [np.frombuffer(key, dtype=np.int32) for key in row_of]
        lengths = torch.tensor([len(prompt) for prompt in prompts])
        width = int(lengths.max())
        ids = torch.zeros(len(prompts), width, dtype=torch.long)
        for row, prompt in enumerate(prompts):
            ids[row, width - len(prompt) :] = torch.from_numpy(prompt.astype(np.int64))
        mask = (torch.arange(width)[None, :] >= width - lengths[:, None]).long()
        positions = (torch.arange(width)[None, :] - (width - lengths)[:, None]).clamp(min=0)
        cache = DynamicCache(config=self._model.config)
        logits = self._forward(ids.to(device), mask.to(device), positions.to(device), cache)
        cache.batch_select_indices(origin.to(device))
        decoded = self._decode(
            logits[origin.to(device)],
            mask[origin].to(device),
            lengths[origin].to(device),
            cache,
            np.array([seed for r in requests for seed in r.seeds], dtype=np.uint64),
            torch.tensor([r.max_tokens for r in requests for _ in r.seeds]),
            temperature,
        )
        turns = iter(decoded)
        return [[next(turns) for _ in request.seeds] for request in requests]

    def _decode(
        self,
        logits: torch.Tensor,
        mask: torch.Tensor,
        positions: torch.Tensor,
        cache: Any,
        seeds: np.ndarray[Any, np.dtype[np.uint64]],
        budget: torch.Tensor,
        temperature: float,
    ) -> list[SampledTurn]:
        """Sample every row of ``logits`` [N, V] until its stop id or its ``budget`` int [N]."""
        rows = np.arange(len(seeds))
        tokens: list[list[int]] = [[] for _ in rows]
        logprobs: list[list[float]] = [[] for _ in rows]
        stopped = np.zeros(len(rows), dtype=bool)
        for step in range(int(budget.max())):
            ids, chosen = sample(logits, temperature, uniforms(seeds[rows], step))
            ids_cpu, chosen_cpu = ids.cpu(), chosen.cpu().tolist()
            for row, token, logprob in zip(rows.tolist(), ids_cpu.tolist(), chosen_cpu, strict=True):
                tokens[row].append(token)
                logprobs[row].append(logprob)
            ended = torch.isin(ids_cpu, self._stop)
            stopped[rows[ended.numpy()]] = True
            going = ~ended & (budget[rows] > step + 1)
            if not bool(going.any()):
                break
            if not bool(going.all()):
                kept = going.nonzero().squeeze(-1)
                rows = rows[kept.numpy()]
                kept = kept.to(mask.device)
                cache.batch_select_indices(kept)
                ids, mask, positions = ids[kept], mask[kept], positions[kept]
            mask = torch.cat([mask, mask.new_ones(len(rows), 1)], dim=1)
            logits = self._forward(ids[:, None], mask, positions[:, None], cache)
            positions = positions + 1
        return [
            SampledTurn(
                np.asarray(t, dtype=np.int32),
                np.asarray(p, dtype=np.float32),
                FinishReason.STOP if s else FinishReason.LENGTH,
            )
            for t, p, s in zip(tokens, logprobs, stopped.tolist(), strict=True)
        ]

    def _forward(self, ids: torch.Tensor, mask: torch.Tensor, positions: torch.Tensor, cache: Any) -> torch.Tensor:
        """Logits [N, V] of the last position; the cache grows in place."""
        output = self._model(
            input_ids=ids,
            attention_mask=mask,
            position_ids=positions,
            use_cache=True,
            logits_to_keep=1,
            **{self._cache_argument: cache},
        )
        logits: torch.Tensor = output.logits[:, -1]
        return logits


def _replica(model: Any, dtype: torch.dtype) -> Any:
    """A frozen copy in ``dtype``. Eager attention is replaced in float64: its softmax stays in float32, where the
    mask's smallest float64 overflows and padded rows turn into NaN."""
    replica = copy.deepcopy(model).to(dtype).eval().requires_grad_(False)
    if dtype == torch.float64 and replica.config._attn_implementation == "eager":
        replica.set_attn_implementation("sdpa")
    return replica
