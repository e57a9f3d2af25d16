"""The policy part that PPO and GRPO share: clipped surrogate, entropy bonus, KL penalty, and their metrics."""

from __future__ import annotations

from dataclasses import fields, replace

import torch
from torch import Tensor

from tsrflow.components.optimizers.functions import clipped_surrogate, kl_k3
from tsrflow.components.optimizers.types import LossInputs
from tsrflow.config.base import OptimizerConfig


def masked(inputs: LossInputs) -> LossInputs:
    """``inputs`` with zeros where ``weights`` are 0: what stood there, NaN included, reaches no loss or gradient."""
    live = inputs.weights > 0
    per_token = {f.name: getattr(inputs, f.name) for f in fields(inputs) if f.name not in ("weights", "normaliser")}
    return replace(inputs, **{k: torch.where(live, v, 0.0) for k, v in per_token.items() if v is not None})


def policy_terms(config: OptimizerConfig, inputs: LossInputs) -> tuple[Tensor, dict[str, Tensor]]:
    """Per-token loss [B, T] of ``masked`` inputs, and metric sums over the weighted tokens (``kl`` only with a
    reference)."""
    surrogate, ratio, clipped = clipped_surrogate(
        inputs.logprobs, inputs.old_logprobs, inputs.advantages, config.clip_low, config.clip_high
    )
    terms = surrogate - config.entropy * inputs.entropy
    weights = inputs.weights
    metrics = {
        "tokens": weights.sum(),
        "policy_loss": (surrogate * weights).sum(),
        "entropy": (inputs.entropy * weights).sum(),
        "ratio": (ratio * weights).sum(),
        "clip_fraction": (clipped * weights).sum(),
    }
    if inputs.ref_logprobs is not None:
        kl = kl_k3(inputs.logprobs, inputs.ref_logprobs)
        terms = terms + config.kl * kl
        metrics["kl"] = (kl * weights).sum()
    return terms, {key: value.detach() for key, value in metrics.items()}
