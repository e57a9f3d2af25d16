"""``model=pretrained model.path=FOLDER``: any causal language model in a local Hugging Face folder."""

from __future__ import annotations

from typing import Any

import torch

from tsrflow.components.models.config import PretrainedConfig
from tsrflow.components.models.policy import LoadedPolicy, load_policy


class PretrainedModel:
    """Loads the folder in the configured precision."""

    def __init__(self, config: PretrainedConfig) -> None:
        self.config = config

    def load(self) -> LoadedPolicy:
        options: dict[str, Any] = {}
        if self.config.dtype != "auto":
            options["dtype"] = {"float32": torch.float32, "bfloat16": torch.bfloat16}[self.config.dtype]
        if self.config.attn_implementation is not None:
            options["attn_implementation"] = self.config.attn_implementation
        policy = load_policy(self.config.path, **options)
        if self.config.gradient_checkpointing:
            policy.model.gradient_checkpointing_enable()
        return policy
