"""The data that flows through a run, as frozen dataclasses over NumPy arrays.

Nothing here knows torch, Hydra or any environment. Axis letters used in docstrings: ``T`` tokens of a trajectory,
``S`` sampled tokens of one turn, ``O`` observation tokens that follow it, ``K`` turns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Split = Literal["train", "validation", "test"]
IntArray = NDArray[np.int32]
FloatArray = NDArray[np.float32]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Task:
    """One environment instance: ``seed`` fixes the instance (map, goal); its dynamics have a stream of their own."""

    env: str
    split: Split
    index: int
    seed: int

    @property
    def id(self) -> str:
        """Stable name, for example ``frozenlake/validation/17``."""
        return f"{self.env}/{self.split}/{self.index}"


class FinishReason(StrEnum):
    """Why the generator stopped sampling one turn."""

    STOP = "stop"
    """A stop id was sampled; it is the last sampled id of the turn."""
    LENGTH = "length"
    """The turn's token budget ran out before a stop id."""


class StopReason(StrEnum):
    """Why a trajectory ended. Only ``TERMINATED`` can be a success."""

    TERMINATED = "terminated"
    """The environment reached a terminal state."""
    TRUNCATED = "truncated"
    """The environment itself cut the episode (its action budget is spent)."""
    MAX_TURNS = "max_turns"
    """``env.max_turns`` turns were taken."""
    TRAJECTORY_TOKENS = "trajectory_tokens"
    """``rollout.max_trajectory_tokens`` leaves no room for another turn."""
    CONTEXT = "context"
    """The model's context window leaves no room for another turn."""
    ENV_ERROR = "env_error"
    """The environment raised or exceeded its time limit in ``step``; the trajectory is never trained on."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a piece of work consumed; adds up componentwise. Seconds are wall-clock."""

    llm_calls: int = 0
    """Sampled turns (one per candidate)."""
    prefill_tokens: int = 0
    """Prompt tokens pushed through the model."""
    decode_tokens: int = 0
    """Tokens sampled."""
    env_steps: int = 0
    """Calls of ``Env.step``, those of scoring draws included."""
    rollout_seconds: float = 0.0
    update_seconds: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(Cost)))

    def __sub__(self, other: Cost) -> Cost:
        return Cost(*(getattr(self, f.name) - getattr(other, f.name) for f in fields(Cost)))

    @property
    def generated_tokens(self) -> int:
        """Sampled tokens: the second x-axis of every curve."""
        return self.decode_tokens


@dataclass(frozen=True, slots=True)
class Tally:
    """A figure that can still be added up: the mean of ``count`` things, or a plain sum where ``count`` is None."""

    total: float
    count: int | None = None

    def __add__(self, other: Tally) -> Tally:
        count = None if self.count is None or other.count is None else self.count + other.count
        return Tally(self.total + other.total, count)

    @property
    def value(self) -> float:
        """The sum, or the mean. Raises ZeroDivisionError for the mean of nothing."""
        return self.total if self.count is None else self.total / self.count


@dataclass(frozen=True, slots=True)
class GenerationRequest:
    """Ask for ``len(seeds)`` turns that continue one prefix.

    ``prompt_ids`` int32 [T] is the exact root-to-node concatenation. Sample ``j`` draws its randomness from
    ``seeds[j]`` alone, so it does not depend on what else is in the batch.
    """

    prompt_ids: IntArray
    seeds: tuple[int, ...]
    max_tokens: int


@dataclass(frozen=True, slots=True)
class SampledTurn:
    """One sampled turn. ``token_ids`` int32 [S] (a final stop id included), ``logprobs`` float32 [S] of the
    behaviour policy, that is at the sampling temperature."""

    token_ids: IntArray
    logprobs: FloatArray
    finish: FinishReason

    def __post_init__(self) -> None:
        if len(self.token_ids) != len(self.logprobs):
            raise ValueError(f"{len(self.token_ids)} token ids but {len(self.logprobs)} log-probs")


@dataclass(frozen=True, slots=True)
class Turn:
    """A sampled turn read as text: what was said and which actions it asks for.

    ``actions`` holds the canonical actions that will be executed; ``well_formed`` is False when the format is broken
    or an action is not known to the environment (the format penalty then applies).
    """

    text: str
    actions: tuple[str, ...]
    well_formed: bool


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A prefix of a trajectory: it stores only what it adds to its parent.

    ``token_ids`` int32 [S+O]: the sampled turn, then the observation that follows (empty when ``done``); for the
    root, the whole first prompt (S=0). ``logprobs`` float32 [S].
    """

    id: int
    parent: int | None
    depth: int
    """Turns taken so far; 0 at the root."""
    token_ids: IntArray
    num_sampled: int
    logprobs: FloatArray
    turn: Turn | None
    finish: FinishReason | None
    observation: str
    """Text shown to the policy after this turn (the final page too, although it is not tokenised)."""
    reward: float
    """Environment reward of this turn (sum over its actions)."""
    penalty: float
    """Format penalty of this turn, <= 0."""
    cumulative: float
    """Undiscounted sum of rewards and penalties from the root."""
    discounted: float
    """Sum over turns t of discount**t * (reward_t + penalty_t) as scoring sees it: realised rewards under ``commit``,
    each turn's mean over the scoring draws under ``honest``."""
    potential: float | None
    score: float
    """What the scorer gave this prefix. Search compares it; it never enters a training reward."""
    done: bool
    stop: StopReason | None
    success: bool
    state_hash: str
    history: tuple[tuple[str, ...], ...]
    """Actions of every turn so far; with ``state_hash`` the identity under which beams drop duplicates."""
    stream: int
    """64-bit seed of this prefix's random stream; children are derived from it by index."""
    policy_version: int = 0

    @property
    def valid(self) -> bool:
        """Whether the last turn did anything: at least one known action was executed without an environment error."""
        return self.stop is not StopReason.ENV_ERROR and (self.turn is None or bool(self.turn.actions))


@dataclass(frozen=True, slots=True)
class Selection:
    """One decision of a strategy: which of the ``candidates`` (node ids) were ``kept``; ``tied`` if chance decided."""

    candidates: tuple[int, ...]
    kept: tuple[int, ...]
    tied: bool


@dataclass(slots=True)
class TrajectoryTree:
    """Append-only arena of delta nodes; ``nodes[i].id == i`` and node 0 is the root."""

    task: Task
    nodes: list[Node] = field(default_factory=list)
    children: list[list[int]] = field(default_factory=list)
    selections: list[Selection] = field(default_factory=list)

    def add(self, node: Node) -> Node:
        """Append ``node``; raises ValueError where its id or parent does not fit the arena."""
        if node.id != len(self.nodes) or (node.parent is None) != (node.id == 0):
            raise ValueError(f"node {node.id} (parent {node.parent}) does not fit an arena of {len(self.nodes)} nodes")
        self.nodes.append(node)
        self.children.append([])
        if node.parent is not None:
            self.children[node.parent].append(node.id)
        return node

    def path(self, leaf: int) -> list[Node]:
        """Nodes from the root to ``leaf``, both included."""
        chain: list[Node] = []
        current: int | None = leaf
        while current is not None:
            node = self.nodes[current]
            chain.append(node)
            current = node.parent
        return chain[::-1]

    def token_ids(self, leaf: int) -> IntArray:
        """int32 [T]: exactly what the model saw and sampled up to ``leaf``."""
        return np.concatenate([node.token_ids for node in self.path(leaf)]).astype(np.int32, copy=False)


@dataclass(frozen=True, slots=True, eq=False)
class Trajectory:
    """One kept leaf, laid out for training; all per-token arrays have length T.

    ``sampled`` marks tokens drawn from the policy, ``turn_index`` gives their turn (-1 elsewhere), ``logprobs`` the
    behaviour log-probs (0 elsewhere), ``weights`` 1/(number of kept leaves that share the token), 0 elsewhere.
    ``turn_rewards`` float32 [K] are the training rewards (environment reward plus format penalty).
    """

    task: Task
    group: int
    search: int
    """Index of the search inside its group."""
    searched: bool
    """False for a plain naive rollout of ``rollout.mix``."""
    token_ids: IntArray
    sampled: BoolArray
    turn_index: IntArray
    logprobs: FloatArray
    weights: FloatArray
    turn_rewards: FloatArray
    path: tuple[Node, ...]
    tree: TrajectoryTree

    def __post_init__(self) -> None:
        lengths = {len(a) for a in (self.token_ids, self.sampled, self.turn_index, self.logprobs, self.weights)}
        if len(lengths) != 1:
            raise ValueError(f"per-token arrays differ in length: {sorted(lengths)}")
        if bool(((self.turn_index >= 0) != self.sampled).any()):
            raise ValueError("turn_index must be >= 0 exactly where a token was sampled")
        if len(self.turn_rewards) != len(self.path) - 1:
            raise ValueError(f"{len(self.turn_rewards)} turn rewards for {len(self.path) - 1} turns")

    @property
    def leaf(self) -> Node:
        return self.path[-1]

    @property
    def return_(self) -> float:
        """Undiscounted training return: sum of ``turn_rewards``."""
        return self.leaf.cumulative

    @property
    def success(self) -> bool:
        return self.leaf.success


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Trajectories of one task; ``id`` is derived from the task and survives shuffling and filtering."""

    id: int
    task: Task
    trajectories: tuple[Trajectory, ...]

    def metric(self, name: Literal["return", "success", "score"]) -> FloatArray:
        """float32 [G]: that figure of every member."""
        if name == "return":
            values = [t.return_ for t in self.trajectories]
        elif name == "success":
            values = [float(t.success) for t in self.trajectories]
        else:
            values = [t.leaf.score for t in self.trajectories]
        return np.asarray(values, dtype=np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class RolloutBatch:
    """What one step of rollouts produced, before filtering. ``tallies`` are figures named as in the docs."""

    step: int
    groups: tuple[Group, ...]
    cost: Cost
    tallies: Mapping[str, Tally]

    @property
    def trajectories(self) -> list[Trajectory]:
        return [t for g in self.groups for t in g.trajectories]


@dataclass(frozen=True, slots=True)
class ScoringContext:
    """All a scorer may look at when it scores a prefix that ends in ``turn``.

    ``env`` is set only for scorers with ``privileged = True``; it stands in the state after the turn and must not be
    stepped or changed.
    """

    task: Task
    depth: int
    max_turns: int
    turn: Turn
    observation: str
    reward: float
    """Environment reward of the last turn."""
    penalty: float
    """Format penalty of the last turn, <= 0."""
    discounted: float
    """Discounted rewards and penalties of the whole prefix, this turn included."""
    potential: float | None
    done: bool
    success: bool
    history: tuple[tuple[str, ...], ...]
    info: Mapping[str, Any]
    env: Any = None


Messages = Sequence[Mapping[str, str]]
