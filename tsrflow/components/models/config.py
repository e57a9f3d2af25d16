"""Config of the models."""

from __future__ import annotations

from typing import Literal

from tsrflow.config.base import ModelConfig


class TinyConfig(ModelConfig):
    """The packaged policy for the environment, 0.1M to 0.2M parameters."""

    name: Literal["tiny"] = "tiny"
    path: str | None = None
    """Another warmed-up folder to start from."""

    @property
    def prefers_brief(self) -> bool:
        return True


class PretrainedConfig(ModelConfig):
    """Any causal language model in a local Hugging Face folder."""

    name: Literal["pretrained"] = "pretrained"
    path: str
    """Local folder; nothing is downloaded."""
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    """Precision of the weights; auto: float32."""
    attn_implementation: str | None = None
    """As transformers names it (sdpa, eager, flash_attention_2); None: its choice."""
    gradient_checkpointing: bool = False
    """Recompute activations in the backward pass to save memory."""
