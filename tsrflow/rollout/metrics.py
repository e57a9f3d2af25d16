"""What a step of rollouts looked like, as flat scalars (names in the docs' metric table).

``train/*`` describes kept trajectories; ``rollout/*`` their form; ``search/*`` what the search did. A metric that has
nothing to describe (no searched member, no selection) is left out, never zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from tsrflow.rollout.live import Search
from tsrflow.types import FinishReason, Group, StopReason, Trajectory


def rollout_metrics(groups: Sequence[Group], searches: Sequence[Search], dropped: int) -> dict[str, float]:
    """All metrics of one step. ``rollout/env_errors`` counts failed turns, ``rollout/dropped`` lost leaves."""
    kept = [t for group in groups for t in group.trajectories]
    metrics = {
        "rollout/env_errors": float(sum(len(search.errors) for search in searches)),
        "rollout/dropped": float(dropped),
    }
    return metrics | _kept(kept, groups) | _search(kept, [s for s in searches if s.searched])


def _kept(kept: Sequence[Trajectory], groups: Sequence[Group]) -> dict[str, float]:
    if not kept:
        return {}
    turns = [node for t in kept for node in t.path[1:]]
    spread = [float(group.metric("return").std()) for group in groups if group.trajectories]
    return {
        "train/return": fmean(t.return_ for t in kept),
        "train/success": fmean(t.success for t in kept),
        "train/group_std": fmean(spread),
        "rollout/turns": fmean(len(t.path) - 1 for t in kept),
        "rollout/response_tokens": fmean(float(t.sampled.sum()) for t in kept),
        "rollout/invalid_rate": fmean(not (n.turn is not None and n.turn.well_formed) for n in turns),
        "rollout/cut_turns": fmean(n.finish is FinishReason.LENGTH for n in turns),
        "rollout/truncated": fmean(t.leaf.stop is not StopReason.TERMINATED for t in kept),
    }


def _search(kept: Sequence[Trajectory], searches: Sequence[Search]) -> dict[str, float]:
    metrics: dict[str, float] = {}
    selections = [s for search in searches for s in search.tree.selections]
    if selections:
        metrics["search/tie_rate"] = fmean(s.tied for s in selections)
    selected = [t.return_ for t in kept if t.searched]
    fresh = [t.return_ for t in kept if not t.searched]
    if selected and fresh:
        metrics["search/selected_minus_fresh"] = fmean(selected) - fmean(fresh)
    if selected:
        metrics["train/success_searched"] = fmean(t.success for t in kept if t.searched)
    if fresh:
        metrics["train/success_naive"] = fmean(t.success for t in kept if not t.searched)
    nodes = [node for search in searches for node in search.tree.nodes[1:]]
    if nodes:
        distinct = sum(len({(n.state_hash, n.history) for n in search.tree.nodes[1:]}) for search in searches)
        metrics["search/unique_prefixes"] = distinct / len(nodes)
        requested = sum(search.requested_tokens for search in searches)
        distinct_tokens = sum(len(n.token_ids) for s in searches for n in s.tree.nodes if s.tree.children[n.id])
        metrics["search/prefix_reuse"] = 1.0 - distinct_tokens / requested
    return metrics
