"""Every objective in a run: it trains, its critic learns at its own rate and on the data it is told to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.training.runs import metrics, quiet, tiny, weights
from tsrflow import streams
from tsrflow.config.schema import RunConfig
from tsrflow.registry import registry
from tsrflow.training.assemble import assemble
from tsrflow.training.module import SearchPolicyModule

VARIANTS: list[dict[str, Any]] = [
    *[{"name": name} for name in registry().names("optimizer")],
    {"name": "ppo", "gae": "bi_level", "critic": "separate", "critic_on": "all"},
    {"name": "reinforce_pp", "kl": 0.1},
    {"name": "dr_grpo", "kl": 0.1},
]


def short(**sections: Any) -> RunConfig:
    """Two steps, evaluated once."""
    return tiny(**{"trainer": {"max_steps": 2, "checkpoint_every": 0}, "eval": {"every": 0}, **sections})


@pytest.mark.parametrize("optimizer", VARIANTS, ids=lambda o: "+".join(map(str, o.values())))
def test_every_objective_trains(optimizer: dict[str, Any], tmp_path: Path) -> None:
    """Without the entropy bonus only advantages move the policy."""
    summary = quiet(short(seed=2, optimizer={**optimizer, "entropy": 0.0}), tmp_path)
    assert summary["status"] == "finished" and summary["steps"] == 2
    lines = metrics(tmp_path)
    assert [line["step"] for line in lines] == [1, 2]
    assert all(line["train/group_std"] > 0 and line["train/grad_norm"] > 0 for line in lines)
    start = assemble(short()).module.model.state_dict()
    moved = [name for name, value in weights(tmp_path, 2).items() if not torch.equal(value, start[name])]
    assert moved


def test_a_learning_rate_of_zero_moves_nothing_and_keeps_the_gap_flat(tmp_path: Path) -> None:
    """What differs between sampler and trainer is then rounding, and does not grow."""
    quiet(tiny(optimizer={"lr": 0.0}, trainer={"max_steps": 6}, eval={"every": 0}), tmp_path)
    start = assemble(tiny()).module.model.state_dict()
    assert all(torch.equal(value, start[name]) for name, value in weights(tmp_path, 6).items())
    assert max(line["sync/logprob_gap_max"] for line in metrics(tmp_path)) < 1e-4


def module(**optimizer: Any) -> SearchPolicyModule:
    return assemble(tiny(optimizer={"name": "ppo", **optimizer})).module


@pytest.mark.parametrize("critic", ["shared", "separate"])
def test_the_critic_has_a_learning_rate_of_its_own(critic: str) -> None:
    """Every trained weight is in one group; AdamW's first step moves it by that group's rate."""
    part = module(critic=critic, lr=1e-3, critic_lr=1e-2)
    optimizer = part.configure_optimizers()
    policy, of_critic = optimizer.param_groups
    assert (policy["lr"], of_critic["lr"]) == (1e-3, 1e-2)
    grouped = [id(p) for group in optimizer.param_groups for p in group["params"]]
    assert len(grouped) == len(set(grouped))
    assert set(grouped) == {id(p) for p in part.parameters() if p.requires_grad}
    assert part.critic is not None
    assert {id(p) for p in of_critic["params"]} == {id(p) for p in part.critic.parameters()}
    before = [p.detach().clone() for group in optimizer.param_groups for p in group["params"]]
    for parameter in part.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    rates = [group["lr"] for group in optimizer.param_groups for _ in group["params"]]
    after = [p.detach() for group in optimizer.param_groups for p in group["params"]]
    for old, new, rate in zip(before, after, rates, strict=True):
        torch.testing.assert_close(old - new, torch.full_like(old, rate), rtol=1e-2, atol=1e-6)


def test_a_wrong_critic_with_its_own_trunk_does_not_shorten_the_policys_step() -> None:
    part = module(critic="separate")
    assert part.critic is not None
    for parameter in part.parameters():
        parameter.grad = torch.full_like(parameter, 1e-6)
    for parameter in part.critic.parameters():
        parameter.grad = torch.full_like(parameter, 1e6)
    part._clip(1)
    assert all(bool((p.grad == 1e-6).all()) for p in part.model.parameters() if p.grad is not None)
    norms = [p.grad.norm() for p in part.critic.parameters() if p.grad is not None]
    assert torch.stack(norms).norm().item() == pytest.approx(1.0, rel=1e-3)


def test_a_critic_on_all_groups_learns_from_dropped_ones_and_the_policy_does_not(tmp_path: Path) -> None:
    """With a critic of its own, the policy's weights are the same whether the critic saw the dropped groups or not
    in the first step; the critic's error is over more tokens."""
    for name in ("kept", "all"):
        optimizer = {"name": "ppo", "critic": "separate", "critic_on": name, "minibatches": 1}
        config = short(
            optimizer=optimizer,
            filter={"name": "reward_std", "fraction": 0.25, "include_zero": True},
            rollout={"tasks": 4},
            trainer={"max_steps": 1, "checkpoint_every": 1},
        )
        quiet(config, tmp_path / name)
    kept, everything = (weights(tmp_path / name, 1) for name in ("kept", "all"))
    for name, value in kept.items():
        torch.testing.assert_close(value, everything[name], atol=2e-5, rtol=0)
    one, other = (metrics(tmp_path / name)[-1] for name in ("kept", "all"))
    assert one["train/kept_groups"] == other["train/kept_groups"] == 1
    assert one["train/policy_loss"] == pytest.approx(other["train/policy_loss"], abs=1e-6)
    assert one["train/value_loss"] != other["train/value_loss"]


def test_minibatches_share_kept_rows_first_and_the_critics_others_after_them() -> None:
    part = module(minibatches=3)
    pieces = list(part._minibatches(streams.generator(7), 8, 13))
    assert sorted(torch.cat(pieces).tolist()) == list(range(13))
    assert [int((p < 8).sum()) for p in pieces] == [3, 3, 2] and [int((p >= 8).sum()) for p in pieces] == [2, 2, 1]
    assert [len(p) for p in part._minibatches(streams.generator(7), 2, 2)] == [1, 1]
