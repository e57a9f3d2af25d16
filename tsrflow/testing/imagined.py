"""Imagined worlds: trees of finished-looking nodes made from one number, without engine, model or environment.

Strategies and filters see nothing of a node but its figures, so hashing them up is enough to exercise every case: ties,
duplicates, answers without actions, episodes that end early, environments that fail.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tsrflow import streams
from tsrflow.types import FinishReason, Group, Node, Selection, StopReason, Task, Trajectory, TrajectoryTree, Turn

TASK = Task("imagined", "train", 0, 0)
_IDS = np.zeros(2, dtype=np.int32)
_LOGPROBS = np.full(1, -1.0, dtype=np.float32)


@dataclass(frozen=True, slots=True)
class World:
    """``rough``: with everything that goes wrong; otherwise every child is valid, distinct and lives for all turns."""

    seed: int
    turns: int = 3
    rough: bool = True

    def root(self, dead: bool = False) -> Node:
        """The root; ``dead`` where the environment could not even start."""
        return _node(0, None, self.seed, 0.0, stop=StopReason.ENV_ERROR if dead else None)

    def child(self, number: int, parent: Node, position: int) -> Node:
        """Node ``number`` of the tree: child ``position`` of ``parent``."""
        stream = streams.fold(parent.stream, position)
        score = streams.fold(stream, "score") % (4 if self.rough else 2**20) / 4
        if not self.rough:
            last = StopReason.MAX_TURNS if parent.depth + 1 >= self.turns else None
            return _node(number, parent, stream, score, (f"a{position}",), last)
        kind = streams.fold(stream, "kind") % 12
        actions = () if kind < 2 else (("up", "left", "right")[kind % 3],)
        stop = StopReason.MAX_TURNS if parent.depth + 1 >= self.turns else None
        if kind == 2:
            stop = StopReason.TERMINATED
        elif kind == 3:
            stop, score = StopReason.ENV_ERROR, float("-inf")
        return _node(number, parent, stream, score, actions, stop)


@dataclass(slots=True)
class LoggedStream:
    """A search's random stream, as the engine gives it."""

    seed: int
    selections: list[Selection] = field(default_factory=list)
    _draws: int = 0

    def permutation(self, n: int) -> Sequence[int]:
        """A random order of ``range(n)``."""
        self._draws += 1
        order: list[int] = streams.generator(streams.fold(self.seed, self._draws)).permutation(n).tolist()
        return order

    def record(self, selection: Selection) -> None:
        """Log one decision."""
        self.selections.append(selection)


def imagined_group(number: int, returns: Sequence[float], searched: Sequence[bool] = ()) -> Group:
    """A group whose members are one turn long and earned ``returns``; a member succeeds where it earned over 0.5."""
    task = Task("imagined", "train", number, number)
    members = []
    for index, earned in enumerate(returns):
        root = _node(0, None, index, 0.0)
        leaf = _node(1, root, streams.fold(index, 0), earned, ("up",), StopReason.TERMINATED, earned)
        tree = TrajectoryTree(task)
        tree.add(root)
        tree.add(leaf)
        sampled = np.array([False, False, True, False])
        members.append(
            Trajectory(
                task=task,
                group=number,
                search=index,
                searched=bool(searched and searched[index]),
                token_ids=tree.token_ids(1),
                sampled=sampled,
                turn_index=np.where(sampled, 0, -1).astype(np.int32),
                logprobs=np.where(sampled, -1.0, 0.0).astype(np.float32),
                weights=sampled.astype(np.float32),
                turn_rewards=np.array([earned], dtype=np.float32),
                path=(root, leaf),
                tree=tree,
            )
        )
    return Group(number, task, tuple(members))


def _node(
    number: int,
    parent: Node | None,
    stream: int,
    score: float,
    actions: tuple[str, ...] = (),
    stop: StopReason | None = None,
    reward: float = 0.0,
) -> Node:
    history = () if parent is None else (*parent.history, actions)
    return Node(
        id=number,
        parent=None if parent is None else parent.id,
        depth=0 if parent is None else parent.depth + 1,
        token_ids=_IDS,
        num_sampled=0 if parent is None else 1,
        logprobs=_LOGPROBS[: 0 if parent is None else 1],
        turn=None if parent is None else Turn(" ".join(actions), actions, bool(actions)),
        finish=None if parent is None else FinishReason.STOP,
        observation="",
        reward=reward,
        penalty=0.0,
        cumulative=reward,
        discounted=reward,
        potential=None,
        score=score,
        done=stop is not None,
        stop=stop,
        success=stop is StopReason.TERMINATED and reward > 0.5,
        state_hash="/".join("+".join(turn) for turn in history),
        history=history,
        stream=stream,
        policy_version=0,
    )
