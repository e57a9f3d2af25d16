"""What a step of rollouts looked like, as flat scalars (names in the docs' metric table).

Figures are kept as sums and counts until all processes' shares are together, so a mean over two processes is the mean.
``train/*`` describes kept trajectories; ``rollout/*`` their form; ``search/*`` what the search did. A metric that has
nothing to describe (no searched member, no selection) is left out, never zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tsrflow.rollout.live import Search
from tsrflow.types import FinishReason, Group, StopReason, Tally, Trajectory

Tallies = dict[str, Tally]


def tally(groups: Sequence[Group], searches: Sequence[Search], dropped: int) -> Tallies:
    """Sums and counts of one step. ``rollout/env_errors`` counts failed turns, ``rollout/dropped`` lost leaves."""
    kept = [t for group in groups for t in group.trajectories]
    tallies = {
        "rollout/env_errors": Tally(float(sum(len(search.errors) for search in searches))),
        "rollout/dropped": Tally(float(dropped)),
        **_kept(kept, groups),
        **_search([s for s in searches if s.searched]),
    }
    return {name: each for name, each in tallies.items() if each.count != 0}


def merge(parts: Iterable[Mapping[str, Tally]]) -> Tallies:
    """The tallies of several shares of one step."""
    merged: Tallies = {}
    for part in parts:
        for name, each in part.items():
            merged[name] = merged[name] + each if name in merged else each
    return merged


def finish(tallies: Mapping[str, Tally]) -> dict[str, float]:
    """Scalars, with those that are made of others: ``search/selected_minus_fresh`` is the mean return of searched
    members minus that of plain ones."""
    metrics = {name: each.value for name, each in tallies.items()}
    if "train/return_searched" in metrics and "train/return_naive" in metrics:
        metrics["search/selected_minus_fresh"] = metrics["train/return_searched"] - metrics["train/return_naive"]
    return metrics


def _mean(values: Iterable[float]) -> Tally:
    values = list(values)
    return Tally(float(sum(values)), len(values))


def _kept(kept: Sequence[Trajectory], groups: Sequence[Group]) -> Tallies:
    turns = [node for t in kept for node in t.path[1:]]
    searched, naive = [t for t in kept if t.searched], [t for t in kept if not t.searched]
    return {
        "train/return": _mean(t.return_ for t in kept),
        "train/return_searched": _mean(t.return_ for t in searched),
        "train/return_naive": _mean(t.return_ for t in naive),
        "train/success": _mean(t.success for t in kept),
        "train/success_searched": _mean(t.success for t in searched),
        "train/success_naive": _mean(t.success for t in naive),
        "train/group_std": _mean(float(g.metric("return").std()) for g in groups if g.trajectories),
        "rollout/turns": _mean(len(t.path) - 1 for t in kept),
        "rollout/response_tokens": _mean(float(t.sampled.sum()) for t in kept),
        "rollout/invalid_rate": _mean(not (n.turn is not None and n.turn.well_formed) for n in turns),
        "rollout/cut_turns": _mean(n.finish is FinishReason.LENGTH for n in turns),
        "rollout/truncated": _mean(t.leaf.stop is not StopReason.TERMINATED for t in kept),
    }


def _search(searches: Sequence[Search]) -> Tallies:
    nodes = [node for search in searches for node in search.tree.nodes[1:]]
    distinct = sum(len({(n.state_hash, n.history) for n in search.tree.nodes[1:]}) for search in searches)
    requested = sum(search.requested_tokens for search in searches)
    read = sum(len(n.token_ids) for s in searches for n in s.tree.nodes if s.tree.children[n.id])
    return {
        "search/tie_rate": _mean(s.tied for search in searches for s in search.tree.selections),
        "search/unique_prefixes": Tally(float(distinct), len(nodes)),
        "search/prefix_reuse": Tally(float(requested - read), requested),
    }
