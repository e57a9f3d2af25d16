"""The Lightning module: one training step turns a batch of rollouts into policy updates.

filter -> advantages -> minibatches -> loss -> gradient -> step. Optimisation is manual because one rollout batch may
take several optimizer steps. Every process sees all groups, so filtering and advantages are global; each then computes
the gradient of its share of the rows, and the loss is normalised by global counts: the result does not depend on the
number of processes or microbatches beyond rounding.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from lightning.pytorch import LightningModule
from torch import Tensor, nn

from tsrflow import streams
from tsrflow.components.models.policy import LoadedPolicy
from tsrflow.components.optimizers.aggregation import normaliser
from tsrflow.components.optimizers.types import AdvantageInputs, Advantages, LossInputs
from tsrflow.config.schema import RunConfig
from tsrflow.errors import RunError
from tsrflow.protocols import InstanceFilter
from tsrflow.rollout.metrics import finish, merge
from tsrflow.training import distributed
from tsrflow.training.batch import TrainingBatch, collate
from tsrflow.training.policy_pass import Critic, PassOutputs, policy_pass
from tsrflow.types import Cost, Group, RolloutBatch


class SearchPolicyModule(LightningModule):
    """Policy, critic and reference with the objective that trains them.

    ``steps_done`` counts rollout batches trained on; ``cost`` is what the run has consumed so far over all processes;
    ``last_metrics`` describes the newest step.
    """

    def __init__(
        self, config: RunConfig, policy: LoadedPolicy, objective: Any, instance_filter: InstanceFilter
    ) -> None:
        super().__init__()
        self.automatic_optimization = False
        self.config = config
        self.policy = policy
        self.model = policy.model
        self.objective = objective
        self.filter = instance_filter
        self.critic = self._critic()
        self.reference = self._reference()
        self.optimizer_state: dict[str, Any] | None = None
        self.steps_done = 0
        self.empty_steps = 0
        self.cost = Cost()
        self.last_metrics: dict[str, float] = {}
        self.last_rollouts: RolloutBatch | None = None

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """AdamW over the policy and, with its own learning rate, the critic."""
        settings = self.config.optimizer
        groups: list[dict[str, Any]] = [{"params": [p for p in self.model.parameters() if p.requires_grad]}]
        if self.critic is not None:
            groups.append({"params": list(self.critic.parameters()), "lr": settings.critic_lr})  # type: ignore[attr-defined]
        optimizer = torch.optim.AdamW(groups, lr=settings.lr, betas=settings.betas, weight_decay=settings.weight_decay)
        if self.optimizer_state is not None:
            optimizer.load_state_dict(self.optimizer_state)
        return optimizer

    def transfer_batch_to_device(self, batch: Any, device: torch.device, dataloader_idx: int) -> Any:
        """Rollouts stay where they are; the padded tensors are moved later."""
        return batch

    def training_step(self, batch: RolloutBatch, batch_idx: int) -> None:
        """Train on one step of rollouts. Raises RunError on a loss or gradient that is not finite."""
        started = time.perf_counter()
        step = batch.step
        rollouts = _merge(batch)
        self.last_rollouts = rollouts
        admitted = self.filter.admit(rollouts.groups)
        kept = [group for group, keep in zip(rollouts.groups, admitted, strict=True) if keep and group.trajectories]
        dropped = [group for group, keep in zip(rollouts.groups, admitted, strict=True) if not keep]
        updated = self._update(step, kept, dropped if self.config.optimizer.critic_on_dropped else [])
        metrics = {**finish(rollouts.tallies), "train/kept_groups": float(len(kept)), **updated}
        update_seconds = time.perf_counter() - started
        self.cost = self.cost + rollouts.cost + Cost(update_seconds=update_seconds)
        self.steps_done = step
        self.last_metrics = metrics | _performance(rollouts.cost, update_seconds)

    def _update(self, step: int, groups: Sequence[Group], for_critic: Sequence[Group]) -> dict[str, float]:
        """Train on ``groups``, and the critic also on ``for_critic``; a step that keeps nothing is not trained on."""
        trajectories = [t for group in groups for t in group.trajectories]
        self.empty_steps = 0 if trajectories else self.empty_steps + 1
        if not trajectories:
            return {}
        batch = collate(trajectories, [t for group in for_critic for t in group.trajectories])
        rows = torch.arange(distributed.rank(), len(batch), distributed.world())
        before = self._before(batch, rows)
        advantages = self._advantages(batch, before)
        sums: dict[str, float] = {}
        norms: list[float] = []
        for epoch in range(self.objective.config.epochs):
            stream = streams.generator(streams.fold(self.config.seed, "minibatches", step, epoch))
            for part in self._minibatches(stream, len(trajectories), len(batch)):
                part_sums, norm = self._minibatch(step, batch, part, before, advantages)
                norms.append(norm)
                for key, value in part_sums.items():
                    sums[key] = sums.get(key, 0.0) + value
        tokens = max(sums.pop("tokens"), 1e-12)
        counted = {"value_loss": max(sums.pop("value_tokens", tokens), 1e-12)}
        loss = sums.pop("loss") / len(norms)
        gap = (before.logprobs - batch.behaviour_logprobs)[batch.sampled].abs()
        return {
            "train/loss": loss,
            **{f"train/{key}": value / counted.get(key, tokens) for key, value in sums.items()},
            "train/grad_norm": sum(norms) / len(norms),
            "sync/logprob_gap": float(gap.mean()),
            "sync/logprob_gap_max": float(gap.max()),
        }

    def _minibatches(self, stream: np.random.Generator, kept: int, rows: int) -> Iterable[Tensor]:
        """Shuffled rows of each optimizer step: of the first ``kept`` rows, and its share of the critic's others."""
        order = torch.from_numpy(stream.permutation(kept))
        others = kept + torch.from_numpy(stream.permutation(rows - kept))
        parts = order.chunk(min(self.objective.config.minibatches, kept))
        return [torch.cat(pair) for pair in zip(parts, others.tensor_split(len(parts)), strict=True)]

    def _before(self, batch: TrainingBatch, rows: Tensor) -> PassOutputs:
        """Log-probs and values of the policy that is about to be updated, and log-probs of the reference, for all rows
        of ``batch``, on the CPU."""
        parts = []
        with torch.no_grad():
            for index in _split(rows, self.config.trainer.accumulate_grad_batches):
                moved = batch.rows(index).to(self.device)
                outputs = self._pass(moved)
                if self.reference is not None:
                    ref_logprobs = policy_pass(self.reference, moved, self._temperature).logprobs
                    outputs = replace(outputs, ref_logprobs=ref_logprobs)
                parts.append((index, outputs))

        def merged(name: str) -> Tensor:
            whole = torch.zeros(batch.input_ids.shape)
            for index, outputs in parts:
                values = getattr(outputs, name).cpu()
                whole[index, : values.shape[1]] = values
            return distributed.merge_rows(whole[rows], rows, len(batch))

        values = merged("values") if self.critic is not None else None
        reference = merged("ref_logprobs") if self.reference is not None else None
        return PassOutputs(merged("logprobs"), merged("entropy"), values, reference)

    def _advantages(self, batch: TrainingBatch, before: PassOutputs) -> Advantages:
        result: Advantages = self.objective.advantages(
            AdvantageInputs(
                sampled=batch.sampled,
                turn_index=batch.turn_index,
                weights=batch.weights,
                turn_rewards=batch.turn_rewards,
                num_turns=batch.num_turns,
                group=batch.group,
                searched=batch.searched,
                values=before.values,
                anchor=batch.anchor,
                old_logprobs=before.logprobs,
                ref_logprobs=before.ref_logprobs,
            )
        )
        return result

    def _minibatch(
        self, step: int, batch: TrainingBatch, part: Tensor, before: PassOutputs, advantages: Advantages
    ) -> tuple[dict[str, float], float]:
        """One optimizer step on the rows ``part``: metric sums over its tokens and the gradient norm."""
        optimizer = self.optimizers()
        optimizer.zero_grad()  # type: ignore[union-attr]
        settings = self.objective.config
        scale, critic_scale = (
            normaliser(weights[part], settings.aggregation, settings.max_length)
            for weights in (batch.weights, batch.critic_weights)
        )
        mine = part[distributed.rank() :: distributed.world()]
        sums: dict[str, float] = {}
        for index in _split(mine, self.config.trainer.accumulate_grad_batches) or [part[:1]]:
            share = 1.0 if len(mine) else 0.0  # without rows of its own a process still joins the collective backward
            loss, microbatch_sums = self._loss(batch, index, before, advantages, scale, critic_scale)
            self._check_finite(step, "loss", loss)
            self.manual_backward(loss * share * distributed.world())
            for key, value in microbatch_sums.items():
                sums[key] = sums.get(key, 0.0) + value * share
        norm = self._clip(step)
        optimizer.step()  # type: ignore[union-attr]
        return distributed.total(sums), norm

    def _clip(self, step: int) -> float:
        """Clip the gradient and return its norm. A critic with a trunk of its own is clipped by itself: how wrong its
        values are must not shorten the policy's step."""
        limit = self.config.trainer.gradient_clip_val
        apart = self.critic is not None and self.critic.trunk is not None
        own = {id(p) for p in self.critic.parameters()} if apart and self.critic is not None else set()
        trained = list(self._trained())
        norms = []
        for part in ([p for p in trained if id(p) not in own], [p for p in trained if id(p) in own]):
            norm = nn.utils.clip_grad_norm_(part, limit if limit is not None else float("inf"))
            self._check_finite(step, "gradient norm", norm)
            norms.append(float(norm))
        return norms[0]

    def _loss(
        self,
        batch: TrainingBatch,
        index: Tensor,
        before: PassOutputs,
        advantages: Advantages,
        scale: Tensor,
        critic_scale: Tensor,
    ) -> tuple[Tensor, dict[str, float]]:
        rows = batch.rows(index).to(self.device)
        width = rows.input_ids.shape[1]

        def cut(values: Tensor) -> Tensor:
            return values[index, :width].to(self.device)

        def cut_optional(values: Tensor | None) -> Tensor | None:
            return None if values is None else cut(values)

        now = self._pass(rows)
        outputs = self.objective.loss(
            LossInputs(
                logprobs=now.logprobs,
                old_logprobs=cut(before.logprobs),
                entropy=now.entropy,
                advantages=cut(advantages.advantages),
                weights=rows.weights,
                values=now.values,
                old_values=cut_optional(before.values),
                returns=cut_optional(advantages.returns),
                ref_logprobs=cut_optional(before.ref_logprobs),
                normaliser=scale.to(self.device),
                critic_weights=rows.critic_weights,
                critic_normaliser=critic_scale.to(self.device),
            )
        )
        sums = {key: float(value) for key, value in outputs.metrics.items()}
        sums["loss"] = float(outputs.loss.detach())
        return outputs.loss, sums

    def _pass(self, rows: TrainingBatch) -> PassOutputs:
        return policy_pass(self.model, rows, self._temperature, self.critic)

    @property
    def _temperature(self) -> float:
        return float(self.config.generator.temperature)

    def _trained(self) -> Iterable[nn.Parameter]:
        return [p for p in self.parameters() if p.requires_grad]

    def _check_finite(self, step: int, what: str, value: Tensor) -> None:
        if not bool(torch.isfinite(value.detach())):
            raise RunError(
                f"step {step}: the {what} is {float(value.detach())}; stopped before the weights were changed. "
                "The last checkpoint is kept; a lower optimizer.lr or trainer.gradient_clip_val may help"
            )

    def _critic(self) -> Critic | None:
        if not self.objective.config.needs_values:
            return None
        separate = getattr(self.objective.config, "critic", "shared") == "separate"
        trunk = copy.deepcopy(self.model.base_model) if separate else None
        return Critic(self.model.config.hidden_size, trunk)

    def _reference(self) -> nn.Module | None:
        if not self.objective.config.needs_reference:
            return None
        reference: nn.Module = copy.deepcopy(self.model).eval().requires_grad_(False)
        return reference


def _split(rows: Tensor, parts: int) -> list[Tensor]:
    return [part for part in rows.chunk(parts) if len(part)] if len(rows) else []


def _merge(batch: RolloutBatch) -> RolloutBatch:
    """The step as all processes together rolled it out; groups are ordered by id."""
    parts = distributed.gather(batch)
    groups = sorted((group for part in parts for group in part.groups), key=lambda group: group.id)
    cost = sum((part.cost for part in parts), Cost())
    return RolloutBatch(batch.step, tuple(groups), cost, merge(part.tallies for part in parts))


def _performance(cost: Cost, update_seconds: float) -> dict[str, float]:
    seconds = max(cost.rollout_seconds / distributed.world(), 1e-9)
    return {
        "perf/tokens_per_s": cost.decode_tokens / seconds,
        "perf/env_steps_per_s": cost.env_steps / seconds,
        "perf/rollout_seconds": seconds,
        "perf/update_seconds": update_seconds,
    }
