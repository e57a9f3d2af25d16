"""From kept leaves to groups: which searches a group consists of, and how trajectories are laid out for training."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tsrflow.protocols import SearchStrategy
from tsrflow.rollout.live import Search
from tsrflow.types import Group, Node, StopReason, Task, Trajectory


@dataclass(frozen=True, slots=True)
class Member:
    """One search of a group: its strategy, how many leaves it keeps, and whether it counts as searched."""

    strategy: SearchStrategy
    keep: int
    searched: bool


def members(strategy: SearchStrategy, naive: SearchStrategy, group_size: int, keep: int, mix: float) -> list[Member]:
    """The searches of one group: ``mix`` of it naive rollouts, the rest searches that keep ``keep`` leaves each.

    Raises ValueError where the searched share is not a multiple of what one search keeps.
    """
    if type(strategy) is type(naive):
        return [Member(naive, 1, False)] * group_size
    plain = round(mix * group_size)
    searched = group_size - plain
    each = strategy.keep_of(searched, keep) if searched else 1
    if searched % each:
        raise ValueError(f"{searched} searched members are not a multiple of {each} kept per search")
    return [Member(naive, 1, False)] * plain + [Member(strategy, each, True)] * (searched // each)


def build_group(task: Task, searches: Sequence[Search]) -> tuple[Group, int]:
    """The group of a task and how many kept leaves were dropped because their environment failed."""
    trajectories = []
    dropped = 0
    for search in searches:
        usable = [leaf for leaf in search.kept if leaf.stop is not StopReason.ENV_ERROR and leaf.depth > 0]
        dropped += len(search.kept) - len(usable)
        paths = [search.tree.path(leaf.id) for leaf in usable]
        shared = Counter(node.id for path in paths for node in path)
        trajectories += [_trajectory(search, path, shared) for path in paths]
    return Group(task.index, task, tuple(trajectories)), dropped


def _trajectory(search: Search, path: list[Node], shared: Counter[int]) -> Trajectory:
    lengths = [len(node.token_ids) for node in path]
    total = sum(lengths)
    sampled = np.zeros(total, dtype=np.bool_)
    turn_index = np.full(total, -1, dtype=np.int32)
    logprobs = np.zeros(total, dtype=np.float32)
    weights = np.zeros(total, dtype=np.float32)
    start = lengths[0]
    for turn, node in enumerate(path[1:]):
        end = start + node.num_sampled
        sampled[start:end] = True
        turn_index[start:end] = turn
        logprobs[start:end] = node.logprobs
        weights[start:end] = 1.0 / shared[node.id]
        start += len(node.token_ids)
    return Trajectory(
        task=search.task,
        group=search.task.index,
        search=search.index,
        searched=search.searched,
        token_ids=np.concatenate([node.token_ids for node in path]).astype(np.int32, copy=False),
        sampled=sampled,
        turn_index=turn_index,
        logprobs=logprobs,
        weights=weights,
        turn_rewards=np.asarray([node.reward + node.penalty for node in path[1:]], dtype=np.float32),
        path=tuple(path),
        tree=search.tree,
    )
