"""``LightningDataModule`` whose batches are rollouts: each one is generated when the trainer asks for it.

The data set knows its length, so Lightning does not fetch ahead: a batch is always sampled by the newest policy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from lightning.pytorch import LightningDataModule
from torch.utils.data import DataLoader, IterableDataset

from tsrflow.types import RolloutBatch

Rollout = Callable[[int], RolloutBatch]


class RolloutStream(IterableDataset[RolloutBatch]):
    """Rollout batches of steps ``first`` … ``last`` (both included)."""

    def __init__(self, rollout: Rollout, first: int, last: int) -> None:
        self._rollout = rollout
        self._steps = range(first, last + 1)

    def __len__(self) -> int:
        return len(self._steps)

    def __iter__(self) -> Iterator[RolloutBatch]:
        for step in self._steps:
            yield self._rollout(step)


class RolloutDataModule(LightningDataModule):
    """Feeds the trainer with ``rollout(step)`` for every remaining step."""

    def __init__(self, rollout: Rollout, first: int, last: int) -> None:
        super().__init__()
        self._stream = RolloutStream(rollout, first, last)

    def train_dataloader(self) -> DataLoader[RolloutBatch]:
        return DataLoader(self._stream, batch_size=None, num_workers=0)
