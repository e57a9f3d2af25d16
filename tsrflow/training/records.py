"""Trajectories on disk: one JSON object per line, with what was sampled, and what it was kept instead of.

Token ids are the truth; the text beside them is for people. Rejected candidates are listed under the turn they competed
for, so search trees can be looked at afterwards.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from tsrflow.types import Node, RolloutBatch, Trajectory


def record_lines(batch: RolloutBatch) -> Iterable[str]:
    """One line per kept trajectory of ``batch``."""
    for group in batch.groups:
        for number, trajectory in enumerate(group.trajectories):
            yield json.dumps({"step": batch.step, "member": number, **trajectory_record(trajectory)})


def trajectory_record(trajectory: Trajectory) -> dict[str, Any]:
    """A kept trajectory as JSON-ready values."""
    return {
        "task": trajectory.task.id,
        "task_seed": trajectory.task.seed,
        "group": trajectory.group,
        "search": trajectory.search,
        "searched": trajectory.searched,
        "success": trajectory.success,
        "return": trajectory.return_,
        "stop": trajectory.leaf.stop.value if trajectory.leaf.stop else None,
        "prompt_ids": trajectory.path[0].token_ids.tolist(),
        "observation": trajectory.path[0].observation,
        "turns": [_turn(trajectory, node) for node in trajectory.path[1:]],
    }


def _turn(trajectory: Trajectory, node: Node) -> dict[str, Any]:
    tree = trajectory.tree
    parent = node.parent if node.parent is not None else 0
    rejected = [tree.nodes[i] for i in tree.children[parent] if i != node.id]
    return {
        **_candidate(node),
        "token_ids": node.token_ids.tolist(),
        "num_sampled": node.num_sampled,
        "logprobs": [round(float(p), 6) for p in node.logprobs],
        "observation": node.observation,
        "policy_version": node.policy_version,
        "finish": node.finish.value if node.finish else None,
        "rejected": [_candidate(other) for other in rejected],
    }


def _candidate(node: Node) -> dict[str, Any]:
    return {
        "node": node.id,
        "text": node.turn.text if node.turn else "",
        "actions": list(node.turn.actions) if node.turn else [],
        "well_formed": bool(node.turn and node.turn.well_formed),
        "reward": node.reward,
        "penalty": node.penalty,
        "score": node.score if node.score != float("-inf") else None,
        "done": node.done,
    }
