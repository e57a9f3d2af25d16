"""The policy part that PPO and GRPO share: clipped surrogate, entropy bonus, KL penalty, and their metrics."""

from __future__ import annotations

from torch import Tensor

from tsrflow.components.optimizers.functions import clipped_surrogate, kl_k3
from tsrflow.components.optimizers.types import LossInputs
from tsrflow.config.base import OptimizerConfig


def policy_terms(config: OptimizerConfig, inputs: LossInputs) -> tuple[Tensor, dict[str, Tensor]]:
    """Per-token loss [B, T] and metric sums over the weighted tokens."""
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
