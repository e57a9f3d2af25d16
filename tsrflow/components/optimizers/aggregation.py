"""From per-token terms to one number, such that the gradient does not depend on how a minibatch is split.

Every part of a minibatch is divided by one ``normaliser`` of the whole, all microbatches and processes together. For a
minibatch of N trajectories with loss weights w:

    token       sum of all w * term, over the sum of all w
    sequence    mean over the N trajectories of (sum of w * term) / (sum of w)
    constant    mean over the N trajectories of (sum of w * term) / max_length

"sequence" and "constant" need whole trajectories as rows.
"""

from __future__ import annotations

from torch import Tensor

from tsrflow.config.base import Aggregation


def normaliser(weights: Tensor, aggregation: Aggregation, max_length: int) -> Tensor:
    """Scalar that a minibatch's loss is divided by, from the weights [B, T] of *all* its rows; a trajectory without
    weight does not count."""
    if aggregation == "token":
        return weights.sum().clamp(min=1e-12)
    trajectories = (weights.sum(dim=1) > 0).sum().clamp(min=1).to(weights.dtype)
    return trajectories * max_length if aggregation == "constant" else trajectories


def aggregate(terms: Tensor, weights: Tensor, scale: Tensor, aggregation: Aggregation) -> Tensor:
    """Scalar: what ``terms`` [B, T] of one microbatch add to the loss of the minibatch; ``scale`` is its
    ``normaliser``."""
    if aggregation in ("token", "constant"):
        return (terms * weights).sum() / scale
    per_trajectory = weights.sum(dim=1)
    return ((terms * weights).sum(dim=1) / per_trajectory.clamp(min=1e-12)).sum() / scale
