"""Trajectories as padded tensors: which rows and tokens the policy and the critic train on, and the states of turns."""

from __future__ import annotations

import torch

from tests.components.made import made_trajectory
from tsrflow.training.batch import collate


def test_rows_of_dropped_groups_weigh_for_the_critic_only() -> None:
    kept, dropped = made_trajectory([1.0, 0.0]), made_trajectory([0.5], group=1)
    batch = collate([kept], [dropped])
    assert batch.weights.tolist() == [[0, 0, 1, 1, 0, 1, 1], [0] * 7]
    assert batch.critic_weights.tolist() == [[0, 0, 1, 1, 0, 1, 1], [0, 0, 1, 1, 0, 0, 0]]
    assert torch.equal(collate([kept, dropped]).weights, batch.critic_weights)


def test_rows_carry_everything_and_are_cut_to_the_longest() -> None:
    batch = collate([made_trajectory([1.0, 0.0])], [made_trajectory([0.5], group=1)])
    rows = batch.rows(torch.tensor([1]))
    assert rows.input_ids.shape == (1, 4) and rows.turn_rewards.shape == (1, 2)
    assert rows.critic_weights.tolist() == [[0, 0, 1, 1]] and not rows.weights.any()
    assert rows.anchor.tolist() == [batch.anchor[1].tolist()] and rows.group.tolist() == [1]
    moved = batch.to(torch.device("meta"))
    assert moved.critic_weights.is_meta and moved.anchor.is_meta


def test_turns_taken_in_the_same_state_of_one_group_share_a_number() -> None:
    """Made trajectories are in state k before turn k."""
    members = [made_trajectory([0.0, 1.0]), made_trajectory([0.0, 0.0, 1.0]), made_trajectory([1.0], group=1)]
    first, second, other = collate(members).anchor.tolist()
    assert first[:2] == second[:2] and first[2] == -1 and len(set(second)) == 3
    assert other[0] not in {*first, *second} and other[1:] == [-1, -1]
