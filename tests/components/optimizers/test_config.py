"""What the optimizer configs tell the rest of a run, and what they refuse."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tests.components.optimizers.batches import OBJECTIVES, objective
from tsrflow.components.optimizers.config import GRPOConfig, PPOConfig


def test_only_ppo_needs_a_critic_and_only_a_kl_penalty_a_reference() -> None:
    assert PPOConfig().needs_values and not GRPOConfig().needs_values
    assert not PPOConfig().needs_reference and not GRPOConfig().needs_reference
    assert GRPOConfig(kl=0.01).needs_reference


def test_the_documentation_has_a_row_for_every_objective() -> None:
    text = (Path(__file__).resolve().parents[3] / "docs" / "objectives.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)) == OBJECTIVES


@pytest.mark.parametrize("name", OBJECTIVES)
def test_only_objectives_that_compare_within_a_group_need_one(name: str) -> None:
    assert objective(name).config.needs_groups is (name not in {"ppo", "reinforce_pp"})


@pytest.mark.parametrize(
    ("config", "values"),
    [
        (GRPOConfig, {"min_std": 0}),
        (GRPOConfig, {"normalise": "mean"}),
        (GRPOConfig, {"lr": -1}),
        (GRPOConfig, {"betas": (0.9, 1.0)}),
        (GRPOConfig, {"betas": (-0.1, 0.9)}),
        (GRPOConfig, {"max_length": 0}),
        (PPOConfig, {"turn_gamma": 0}),
        (PPOConfig, {"critic_on": "dropped"}),
        (PPOConfig, {"critic_lr": -1}),
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
