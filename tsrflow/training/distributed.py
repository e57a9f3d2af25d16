"""The few collective operations training needs; with one process they are the identity."""

from __future__ import annotations

from typing import TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

T = TypeVar("T")


def rank() -> int:
    """This process's number among those that train together."""
    return dist.get_rank() if dist.is_available() and dist.is_initialized() else 0


def world() -> int:
    """How many processes train together."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def gather(value: T) -> list[T]:
    """Everybody's ``value``, in order of rank (pickled)."""
    if world() == 1:
        return [value]
    values: list[T | None] = [None] * world()
    dist.all_gather_object(values, value)
    return values  # type: ignore[return-value]


def merge_rows(part: Tensor, rows: Tensor, total: int) -> Tensor:
    """Put every rank's ``part`` [n, ...] at its ``rows`` of one tensor [total, ...] that all ranks get."""
    whole = part.new_zeros((total, *part.shape[1:]))
    whole[rows] = part
    if world() > 1:
        dist.all_reduce(whole, op=dist.ReduceOp.SUM)
    return whole


def total(values: dict[str, float]) -> dict[str, float]:
    """Sum of every rank's ``values``, key by key."""
    if world() == 1:
        return values
    keys = sorted(values)
    stacked = torch.tensor([values[k] for k in keys], dtype=torch.float64)
    dist.all_reduce(stacked, op=dist.ReduceOp.SUM)
    return dict(zip(keys, stacked.tolist(), strict=True))
