"""What objectives put into a loss, token by token: clipped surrogate, KL penalty, value error, and their metrics.

The policy part is the same for all of them: surrogate, entropy bonus, KL penalty.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from tsrflow.components.optimizers.aggregation import aggregate
from tsrflow.components.optimizers.types import LossInputs, LossOutputs
from tsrflow.config.base import OptimizerConfig

MAX_LOG_RATIO = 20.0
"""Log-ratio beyond which exponentials are not followed: exp(20) is far from overflow and far from sense."""
_OF_POLICY = ("logprobs", "old_logprobs", "entropy", "advantages", "ref_logprobs")
_OF_CRITIC = ("values", "old_values", "returns")


def clipped_surrogate(log_ratio: Tensor, advantages: Tensor, low: float, high: float) -> tuple[Tensor, Tensor, Tensor]:
    """Per-token loss to be minimised, probability ratio, and whether clipping took effect, [B, T] each: PPO's clipped
    objective (Schulman et al. 2017, eq. 7) between 1 - ``low`` and 1 + ``high`` (clip-higher: DAPO 2025, eq. 10).

    The ratio stops growing at exp(``MAX_LOG_RATIO``), so loss and gradient are finite at any log-probs.
    """
    ratio = log_ratio.clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO).exp()
    plain = ratio * advantages
    clipped = ratio.clamp(1.0 - low, 1.0 + high) * advantages
    return -torch.minimum(plain, clipped), ratio, clipped < plain


def sequence_log_ratio(logprobs: Tensor, old_logprobs: Tensor, live: Tensor) -> Tensor:
    """float [B, T]: on every token the mean log-ratio of its trajectory's ``live`` tokens, with the gradient of that
    token's own log-prob (GSPO, Zheng et al. 2025, eq. 7 and the token variant of section 4.3). Rows are trajectories.

    With one advantage per trajectory and aggregation=sequence its gradient is that of the sequence-level objective.
    """
    gap = torch.where(live, logprobs.detach() - old_logprobs, 0.0)
    mean = gap.sum(dim=1, keepdim=True) / live.sum(dim=1, keepdim=True).clamp(min=1)
    return mean + (logprobs - logprobs.detach())


def kl_k3(logprobs: Tensor, ref_logprobs: Tensor) -> Tensor:
    """Per-token estimate r - log r - 1 of KL(policy || reference) with r = reference / policy: never negative,
    unbiased (Schulman 2020, "Approximating KL divergence", k3).

    Beyond log r = ``MAX_LOG_RATIO`` the exponential goes on as its tangent: finite, and still pulling back.
    """
    log_ratio = ref_logprobs - logprobs
    near = log_ratio.clamp(max=MAX_LOG_RATIO)
    return near.expm1() + near.exp() * (log_ratio - near) - log_ratio


def value_loss(values: Tensor, old_values: Tensor, returns: Tensor, clip: float | None) -> Tensor:
    """Half the squared error per token; with ``clip`` the worse of it and that of the value kept near the old one."""
    plain = (values - returns) ** 2
    if clip is None:
        return 0.5 * plain
    near = old_values + (values - old_values).clamp(-clip, clip)
    return 0.5 * torch.maximum(plain, (near - returns) ** 2)


def masked(inputs: LossInputs) -> LossInputs:
    """``inputs`` with zeros where nothing is trained: what stood there, NaN included, reaches no loss or gradient.

    Where no ``critic_weights`` are given, the critic learns on the tokens of the policy.
    """
    critic_weights = inputs.weights if inputs.critic_weights is None else inputs.critic_weights
    clean: dict[str, Tensor] = {}
    for names, live in ((_OF_POLICY, inputs.weights > 0), (_OF_CRITIC, critic_weights > 0)):
        found = {name: getattr(inputs, name) for name in names}
        clean |= {k: torch.where(live, v, 0.0) for k, v in found.items() if v is not None}
    return replace(inputs, **clean)


def policy_terms(
    config: OptimizerConfig, inputs: LossInputs, log_ratio: Tensor | None = None
) -> tuple[Tensor, dict[str, Tensor]]:
    """Per-token loss [B, T] of ``masked`` inputs, and metric sums over the weighted tokens (``kl`` only with a
    reference). ``log_ratio`` [B, T] replaces that of single tokens."""
    log_ratio = inputs.logprobs - inputs.old_logprobs if log_ratio is None else log_ratio
    surrogate, ratio, clipped = clipped_surrogate(log_ratio, inputs.advantages, config.clip_low, config.clip_high)
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
        terms = terms + config.kl_in_loss * kl
        metrics["kl"] = (kl * weights).sum()
    return terms, {key: value.detach() for key, value in metrics.items()}


def policy_loss(config: OptimizerConfig, inputs: LossInputs) -> LossOutputs:
    """The loss of an objective without a critic: ``policy_terms`` averaged as ``config.aggregation`` says."""
    inputs = masked(inputs)
    terms, metrics = policy_terms(config, inputs)
    return LossOutputs(aggregate(terms, inputs.weights, inputs.normaliser, config.aggregation), metrics)
