"""The seams of a run: what each kind of component must offer. Structural types only, no behaviour.

Kinds: env, search, scorer, optimizer, filter, generator, model, tracker. A third party implements one of these and
registers it; nothing here needs to be inherited from.
"""

from __future__ import annotations

from collections.abc import Generator as Coroutine
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from tsrflow.types import (
    GenerationRequest,
    Group,
    Node,
    RolloutBatch,
    SampledTurn,
    ScoringContext,
    Selection,
    Split,
    Task,
)

StepResult = tuple[str, float, bool, bool, dict[str, Any]]


@runtime_checkable
class Env(Protocol):
    """A text environment in Gymnasium's order of calls.

    Instances are reused: ``reset`` or ``restore`` may be called at any time and must leave nothing of the past.
    Randomness of ``step`` comes only from the dynamics stream, which is part of a snapshot.
    """

    def instructions(self, brief: bool) -> str:
        """Rules, legend and action names for the system prompt; ``brief`` for policies with a small context."""
        ...

    def task(self, split: Split, index: int) -> Task:
        """The ``index``-th task of a split: pure, and instances of different splits are disjoint by construction.

        Raises IndexError for a finite split that has no such task (``validation`` and ``test``); ``train`` wraps.
        """
        ...

    def reset(self, task: Task) -> tuple[str, dict[str, Any]]:
        """Start ``task``; the dynamics stream starts at ``task.seed``."""
        ...

    def seed_dynamics(self, seed: int) -> None:
        """Restart the dynamics stream at ``seed`` without touching the state."""
        ...

    def step(self, action: str) -> StepResult:
        """Play one action: (observation, reward, terminated, truncated, info).

        ``info["success"]`` (bool) is the only source of success. An action that is not known or not legal changes
        nothing, gives reward 0 and sets ``info["invalid"] = True``; it never raises.
        """
        ...

    def parse_action(self, text: str) -> str | None:
        """Canonical form of an action as the policy wrote it, or None where it is no action of this environment."""
        ...

    def legal_actions(self) -> Sequence[str]:
        """Canonical actions that ``step`` accepts now; for an open action space, representative ones."""
        ...

    def snapshot(self) -> Any:
        """An immutable copy of the episode, dynamics stream included."""
        ...

    def restore(self, snapshot: Any) -> None:
        """Continue from ``snapshot`` as if nothing had happened since (same future for the same actions)."""
        ...

    def state_hash(self) -> str:
        """Equal for states with the same future; the dynamics stream is not part of it."""
        ...

    def potential(self) -> float | None:
        """Progress in [-1, 1] of the current state, or None where the environment has no such notion."""
        ...

    def render_ansi(self) -> str:
        """The state for a person at a terminal."""
        ...


@runtime_checkable
class Generator(Protocol):
    """Samples turns from the current policy."""

    stop_ids: frozenset[int]

    def generate(
        self, requests: Sequence[GenerationRequest], temperature: float | None = None
    ) -> list[list[SampledTurn]]:
        """One list per request, one turn per seed. ``temperature`` None is the configured one, 0 is greedy."""
        ...

    def sync(self, model: Any, version: int) -> None:
        """Take the weights of ``model`` (the trainer's module) and stamp later samples with ``version``."""
        ...

    @property
    def version(self) -> int:
        """Policy version of the weights in use."""
        ...

    def close(self) -> None:
        """Free what the generator holds."""
        ...


@runtime_checkable
class Scorer(Protocol):
    """Gives prefixes a score that search compares; the score never becomes a reward."""

    privileged: bool
    """Whether it reads state that is hidden from the policy: allowed in training, refused in evaluation."""

    def score(self, contexts: Sequence[ScoringContext]) -> Sequence[float]:
        """One finite number per context, higher is better."""
        ...


@dataclass(frozen=True, slots=True)
class Expand:
    """A strategy's request: ``n`` children for each of ``nodes`` (none of them done)."""

    nodes: Sequence[Node]
    n: int


class SearchStream(Protocol):
    """A search's own random stream; it also keeps the log of its selections."""

    def permutation(self, n: int) -> Sequence[int]: ...

    def record(self, selection: Selection) -> None: ...


@runtime_checkable
class SearchStrategy(Protocol):
    """Grows a tree for one task, written as a generator function."""

    def keep_of(self, searched: int, keep: int) -> int:
        """Leaves one search returns when a group wants ``searched`` of them and ``rollout.keep`` is ``keep``."""
        ...

    def search(self, root: Node, keep: int, rng: SearchStream) -> Coroutine[Expand, list[Node], list[Node]]:
        """Yield ``Expand`` requests, receive the scored children (grouped by parent, in order), return the kept
        leaves, best first: ``keep`` of them, fewer only where fewer exist."""
        ...


@runtime_checkable
class InstanceFilter(Protocol):
    """Decides which groups are trained on."""

    def admit(self, groups: Sequence[Group]) -> list[bool]:
        """One decision per group."""
        ...

    def state_dict(self) -> dict[str, Any]: ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None: ...


@runtime_checkable
class Tracker(Protocol):
    """Writes what happens in a run somewhere."""

    def start(self, run_dir: str, hparams: Mapping[str, Any], step: int) -> None:
        """Open for writing; everything after ``step`` of an earlier attempt is void."""
        ...

    def scalars(self, step: int, values: Mapping[str, float]) -> None: ...

    def rollouts(self, batch: RolloutBatch) -> None: ...

    def finish(self, summary: Mapping[str, Any]) -> None: ...
