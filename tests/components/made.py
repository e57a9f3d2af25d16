"""Finished trajectories and groups made by hand: one turn after the other, token ids counted up."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tsrflow.types import (
    Cost,
    FinishReason,
    Group,
    Node,
    RolloutBatch,
    StopReason,
    Task,
    Trajectory,
    TrajectoryTree,
    Turn,
)


def made_trajectory(
    rewards: Sequence[float],
    *,
    task: Task | None = None,
    success: bool = False,
    score: float = 0.0,
    searched: bool = True,
    texts: Sequence[str] = (),
    observations: Sequence[str] = (),
    group: int = 0,
) -> Trajectory:
    """Two prompt tokens, then per turn two sampled tokens and, except after the last one, one of observation."""
    task = task or Task("made", "train", 0, 0)
    tree = TrajectoryTree(task)
    total = 0.0
    for depth in range(len(rewards) + 1):
        last = depth == len(rewards)
        total += rewards[depth - 1] if depth else 0.0
        text = texts[depth - 1] if 0 < depth <= len(texts) else f"turn {depth}"
        tree.add(
            Node(
                id=depth,
                parent=depth - 1 if depth else None,
                depth=depth,
                token_ids=np.arange(2 if depth == 0 or last else 3, dtype=np.int32),
                num_sampled=2 if depth else 0,
                logprobs=np.full(2 if depth else 0, -0.5, dtype=np.float32),
                turn=Turn(text, ("a",), True) if depth else None,
                finish=FinishReason.STOP if depth else None,
                observation=observations[depth] if depth < len(observations) else f"state {depth}",
                reward=rewards[depth - 1] if depth else 0.0,
                penalty=0.0,
                cumulative=total,
                discounted=total,
                potential=None,
                score=score if last else 0.0,
                done=last,
                stop=(StopReason.TERMINATED if success else StopReason.MAX_TURNS) if last else None,
                success=success and last,
                state_hash=str(depth),
                history=(("a",),) * depth,
                stream=0,
            )
        )
    path = tuple(tree.path(len(rewards)))
    turn_index = np.concatenate(
        [[n.depth - 1 if j < n.num_sampled else -1 for j in range(len(n.token_ids))] for n in path]
    )
    sampled = turn_index >= 0
    return Trajectory(
        task=task,
        group=group,
        search=0,
        searched=searched,
        token_ids=tree.token_ids(len(rewards)),
        sampled=sampled,
        turn_index=turn_index.astype(np.int32),
        logprobs=np.where(sampled, -0.5, 0.0).astype(np.float32),
        weights=sampled.astype(np.float32),
        turn_rewards=np.asarray(rewards, dtype=np.float32),
        path=path,
        tree=tree,
    )


def made_group(
    returns: Sequence[float],
    *,
    successes: Sequence[bool] | None = None,
    scores: Sequence[float] | None = None,
    searched: Sequence[bool] | None = None,
    number: int = 0,
) -> Group:
    """One member per return, all of one turn."""
    task = Task("made", "train", number, number)
    return Group(
        number,
        task,
        tuple(
            made_trajectory(
                [value],
                task=task,
                success=successes[i] if successes else False,
                score=scores[i] if scores else 0.0,
                searched=searched[i] if searched else True,
                group=number,
            )
            for i, value in enumerate(returns)
        ),
    )


def made_batch(groups: Sequence[Group], step: int = 1) -> RolloutBatch:
    """A step of rollouts that cost nothing."""
    return RolloutBatch(step, tuple(groups), Cost(), {})
