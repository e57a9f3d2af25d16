"""What the optimizer configs tell the rest of a run, and what they refuse."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from tsrflow.components.optimizers.config import GRPOConfig, PPOConfig


def test_only_ppo_needs_a_critic_and_only_a_kl_penalty_a_reference() -> None:
    assert PPOConfig().needs_values and not GRPOConfig().needs_values
    assert not PPOConfig().needs_reference and not GRPOConfig().needs_reference
    assert GRPOConfig(kl=0.01).needs_reference


@pytest.mark.parametrize(
    ("config", "values"),
    [
        (GRPOConfig, {"min_std": 0}),
        (GRPOConfig, {"normalise": "mean"}),
        (GRPOConfig, {"lr": -1}),
        (GRPOConfig, {"aggregation": "batch"}),
        (GRPOConfig, {"gamma": 0.9}),
        (PPOConfig, {"lam": 1.5}),
        (PPOConfig, {"gamma": 0}),
        (PPOConfig, {"value_clip": 0}),
        (PPOConfig, {"credit": "token"}),
        (PPOConfig, {"epochs": 0}),
    ],
)
def test_values_out_of_range_are_refused(config: type[GRPOConfig | PPOConfig], values: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=next(iter(values))):
        config.model_validate(values)
