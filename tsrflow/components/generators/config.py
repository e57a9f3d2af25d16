"""Config of the generators."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tsrflow.config.base import GeneratorConfig


class TransformersGeneratorConfig(GeneratorConfig):
    """The trainer's own model, sampled in batches in the same process."""

    name: Literal["transformers"] = "transformers"
    dtype: Literal["auto", "float32", "float64", "bfloat16"] = "auto"
    """Precision of sampling; auto: float64 for small models on a CPU, else the model's own."""
    batch_tokens: int = Field(default=65536, ge=1)
    """Padded tokens per forward pass at most (at least one prefix is always taken)."""
