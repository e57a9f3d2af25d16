"""The rollout engine: drives all live searches together, one batched generator call per round.

A strategy is written for one task and yields ``Expand``; the engine gathers the requests of every live search, samples
all turns at once, plays each distinct action list once, asks the scorer once, and sends the children back. Streams are
derived from (seed, step, slot, search, path), so a search gives the same tree whoever shares the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from tsrflow import streams
from tsrflow.config.base import EnvConfig
from tsrflow.protocols import Env, Expand, Scorer, SearchStrategy
from tsrflow.protocols import Generator as PolicyGenerator
from tsrflow.rollout.chat import ChatRenderer
from tsrflow.rollout.fork import Forker, Handle, Outcome, play_turn
from tsrflow.rollout.guard import Failure, Guard
from tsrflow.rollout.ledger import Ledger
from tsrflow.rollout.prompts import Prompter, parse_turn
from tsrflow.rollout.stream import Stream
from tsrflow.types import (
    FinishReason,
    GenerationRequest,
    IntArray,
    Node,
    SampledTurn,
    ScoringContext,
    StopReason,
    Task,
    TrajectoryTree,
    Turn,
)

NO_IDS = np.zeros(0, dtype=np.int32)
NO_LOGPROBS = np.zeros(0, dtype=np.float32)


@dataclass(frozen=True, slots=True)
class Limits:
    """The three token limits of a rollout, and the turn limit."""

    turn_tokens: int
    trajectory_tokens: int | None
    """Tokens after the first prompt, observations included."""
    context: int
    turns: int


@dataclass(frozen=True, slots=True)
class TurnRules:
    """How turns are read, penalised and forked."""

    actions_per_turn: int
    think: bool
    format_penalty: float
    discount: float
    clairvoyant: bool
    scoring_draws: int
    """Independent executions a candidate is scored by under ``honest``; 0: it is scored in the world it keeps."""


@dataclass(slots=True)
class Search:
    """One live search: its tree, its coroutine and what it waits for."""

    task: Task
    slot: int
    index: int
    searched: bool
    tree: TrajectoryTree
    stream: Stream
    coroutine: Generator[Expand, list[Node], list[Node]] | None = None
    pending: Expand | None = None
    kept: list[Node] = field(default_factory=list)
    handles: dict[int, Handle] = field(default_factory=dict)
    prefixes: dict[int, IntArray] = field(default_factory=dict)
    requested_tokens: int = 0
    """Prompt tokens of all expansions, were every candidate to read its whole prefix."""
    errors: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Candidate:
    search: Search
    parent: Node
    stream: int
    sample: SampledTurn
    turn: Turn
    job: int = -1


@dataclass(frozen=True, slots=True)
class _Played:
    """A turn executed once for keeps and, under ``honest``, several times for its score."""

    outcome: Outcome
    draws: tuple[Outcome, ...]


class RolloutEngine:
    """Grows searches to their end. Owns no weights and no strategy; one engine serves training and evaluation."""

    def __init__(
        self,
        env_config: EnvConfig,
        env_factory: Callable[[], Env],
        renderer: ChatRenderer,
        prompter: Prompter,
        generator: PolicyGenerator,
        scorer: Scorer,
        limits: Limits,
        rules: TurnRules,
        step_timeout: float,
    ) -> None:
        self._env_config = env_config
        self._renderer = renderer
        self._prompter = prompter
        self._generator = generator
        self._scorer = scorer
        self._limits = limits
        self._rules = rules
        self._forker = Forker(env_factory, env_config.fork)
        self._parse_action = env_factory().parse_action
        self._guard = Guard(step_timeout, self._forker.renew)
        self.ledger = Ledger()

    def open(
        self, task: Task, slot: int, index: int, strategy: SearchStrategy, keep: int, searched: bool, stream: int
    ) -> Search:
        """A search over ``task`` whose randomness comes from ``stream`` alone."""
        tree = TrajectoryTree(task)
        search = Search(task, slot, index, searched, tree, Stream(streams.fold(stream, "select")))
        seed = streams.fold(stream, "dynamics")
        (started,) = self._guard.run([lambda beat: self._start(task, seed)])
        root = self._root(search, stream, started)
        search.coroutine = strategy.search(root, keep, search.stream)
        return search

    def run(self, searches: Sequence[Search], temperature: float | None = None) -> None:
        """Grow every search until it returns its kept leaves (``Search.kept``)."""
        live = [search for search in searches if self._advance(search, None)]
        while live:
            children = self._expand(live, temperature)
            live = [search for search in live if self._advance(search, children[id(search)])]

    def first_prompt_tokens(self, task: Task) -> int:
        """Length of the first prompt of ``task``."""
        observation, _, _ = self._forker.root(task, 0)
        return len(self._first_prompt(observation))

    def close(self) -> None:
        """Stop the environment thread."""
        self._guard.close()

    def _start(self, task: Task, seed: int) -> tuple[str, Handle, float | None, str]:
        observation, handle, env = self._forker.root(task, seed)
        return observation, handle, env.potential(), env.state_hash()

    def _root(self, search: Search, stream: int, started: object) -> Node:
        failed = isinstance(started, Failure)
        if isinstance(started, Failure):
            search.errors.append(started.reason)
            observation, handle, potential, state_hash = "", None, None, ""
        else:
            observation, handle, potential, state_hash = started  # type: ignore[misc]
        prompt = NO_IDS if failed else self._first_prompt(observation)
        stop = StopReason.ENV_ERROR if failed else self._no_room(len(prompt), 0)
        root = Node(
            id=0,
            parent=None,
            depth=0,
            token_ids=prompt,
            num_sampled=0,
            logprobs=NO_LOGPROBS,
            turn=None,
            finish=None,
            observation=observation,
            reward=0.0,
            penalty=0.0,
            cumulative=0.0,
            discounted=0.0,
            potential=potential,
            score=0.0,
            done=stop is not None,
            stop=stop,
            success=False,
            state_hash=state_hash,
            history=(),
            stream=stream,
            policy_version=self._generator.version,
        )
        search.tree.add(root)
        if handle is not None:
            search.handles[0] = handle
            search.prefixes[0] = prompt
        return root

    def _first_prompt(self, observation: str) -> IntArray:
        return self._renderer.first_prompt(self._prompter.system(), self._prompter.first(observation))

    def _advance(self, search: Search, children: list[Node] | None) -> bool:
        """Send ``children`` to the strategy; False once it has returned."""
        assert search.coroutine is not None
        try:
            search.pending = search.coroutine.send(children) if children is not None else next(search.coroutine)
            return True
        except StopIteration as finished:
            search.kept = list(finished.value)
            search.tree.selections = search.stream.selections
            search.coroutine = search.pending = None
            search.handles.clear()
            search.prefixes.clear()
            return False

    def _expand(self, live: Sequence[Search], temperature: float | None) -> dict[int, list[Node]]:
        candidates = self._sample(live, temperature)
        played = self._play(candidates)
        scores = self._score(candidates, played)
        children: dict[int, list[Node]] = {id(search): [] for search in live}
        for candidate, score in zip(candidates, scores, strict=True):
            result = played[candidate.job] if candidate.job >= 0 else None
            node = self._child(candidate, result, score)
            children[id(candidate.search)].append(node)
        return children

    def _sample(self, live: Sequence[Search], temperature: float | None) -> list[_Candidate]:
        owners: list[tuple[Search, Node, list[int]]] = []
        requests: list[GenerationRequest] = []
        for search in live:
            assert search.pending is not None
            expanded: dict[int, int] = {}
            for node in search.pending.nodes:
                first = len(search.tree.children[node.id]) + expanded.get(node.id, 0)
                expanded[node.id] = expanded.get(node.id, 0) + search.pending.n
                child_streams = [streams.fold(node.stream, first + i) for i in range(search.pending.n)]
                prefix = search.prefixes[node.id]
                search.requested_tokens += len(prefix) * search.pending.n
                seeds = tuple(streams.fold(stream, "tokens") for stream in child_streams)
                requests.append(GenerationRequest(prefix, seeds, self._room(search, len(prefix))))
                owners.append((search, node, child_streams))
        samples = self._generator.generate(requests, temperature)
        candidates = []
        for (search, node, child_streams), turns in zip(owners, samples, strict=True):
            for stream, sample in zip(child_streams, turns, strict=True):
                text = self._renderer.decode(sample.token_ids)
                turn = parse_turn(text, self._parse_action, self._rules.actions_per_turn, self._rules.think)
                candidates.append(_Candidate(search, node, stream, sample, turn))
        self.ledger.add(
            llm_calls=len(candidates),
            prefill_tokens=sum(len(request.prompt_ids) for request in requests),
            decode_tokens=sum(len(candidate.sample.token_ids) for candidate in candidates),
        )
        return candidates

    def _play(self, candidates: Sequence[_Candidate]) -> list[_Played | Failure]:
        """Execute each distinct (parent, actions) once; fills in ``_Candidate.job``."""
        known: dict[tuple[int, int, tuple[str, ...]], int] = {}
        jobs: list[Callable[[Callable[[], None]], _Played]] = []
        for candidate in candidates:
            if not candidate.turn.actions:
                continue  # nothing is executed: the state stays
            key = (id(candidate.search), candidate.parent.id, candidate.turn.actions)
            if key not in known:
                known[key] = len(jobs)
                jobs.append(partial(self._play_one, candidate))
            candidate.job = known[key]
        results: list[_Played | Failure] = self._guard.run(jobs)
        steps = 0
        for result in results:
            if isinstance(result, _Played):
                steps += result.outcome.steps + sum(draw.steps for draw in result.draws)
        self.ledger.add(env_steps=steps)
        return results

    def _play_one(self, candidate: _Candidate, beat: Callable[[], None]) -> _Played:
        handle = candidate.search.handles[candidate.parent.id]
        draws = self._rules.scoring_draws if candidate.search.searched else 0
        seeds = [streams.fold(candidate.stream, "draw", i) for i in range(draws)]
        scored = tuple(self._execute(candidate, handle, seed, beat, draws > 0) for seed in seeds)
        fresh = None if self._rules.clairvoyant else streams.fold(candidate.stream, "dynamics")
        return _Played(self._execute(candidate, handle, fresh, beat, draws == 0), scored)

    def _execute(
        self, candidate: _Candidate, handle: Handle, seed: int | None, beat: Callable[[], None], scored: bool
    ) -> Outcome:
        actions, before = candidate.turn.actions, candidate.parent.observation
        outcome, env = play_turn(self._forker, handle, seed, actions, before, beat)
        if scored and self._scorer.privileged:
            (score,) = self._scorer.score([self._context(candidate, outcome, env)])
            object.__setattr__(outcome, "score", float(score))
        return outcome

    def _score(self, candidates: Sequence[_Candidate], played: Sequence[_Played | Failure]) -> list[float]:
        """One score per candidate: the mean over the executions it is judged by."""
        judged: list[list[Outcome | None]] = []
        for candidate in candidates:
            result = played[candidate.job] if candidate.job >= 0 else None
            if isinstance(result, Failure):
                judged.append([])
            elif result is None:
                judged.append([None])
            else:
                judged.append(list(result.draws or (result.outcome,)))
        contexts = [
            self._context(candidate, outcome, None)
            for candidate, outcomes in zip(candidates, judged, strict=True)
            for outcome in outcomes
            if outcome is None or outcome.score is None
        ]
        scored = iter(self._scorer.score(contexts) if contexts else ())
        scores = []
        for outcomes in judged:
            values = [float(next(scored)) if o is None or o.score is None else o.score for o in outcomes]
            scores.append(sum(values) / len(values) if values else float("-inf"))
        if any(score != score for score in scores):
            raise ValueError(f"scorer {type(self._scorer).__name__} returned NaN")
        return scores

    def _context(self, candidate: _Candidate, outcome: Outcome | None, env: Env | None) -> ScoringContext:
        parent, turn = candidate.parent, candidate.turn
        penalty = self._penalty(turn)
        reward = outcome.reward if outcome else 0.0
        done, _ = self._ending(parent.depth + 1, outcome)
        return ScoringContext(
            task=candidate.search.task,
            depth=parent.depth + 1,
            max_turns=self._limits.turns,
            turn=turn,
            observation=outcome.observation if outcome else parent.observation,
            reward=reward,
            penalty=penalty,
            discounted=parent.discounted + self._rules.discount**parent.depth * (reward + penalty),
            potential=outcome.potential if outcome else parent.potential,
            done=done,
            success=outcome.success if outcome else False,
            history=(*parent.history, turn.actions),
            info=outcome.info if outcome else {},
            env=env,
        )

    def _child(self, candidate: _Candidate, result: _Played | Failure | None, score: float) -> Node:
        search, parent, turn = candidate.search, candidate.parent, candidate.turn
        played = result if isinstance(result, _Played) else None
        outcome = played.outcome if played else None
        penalty, reward = self._penalty(turn), outcome.reward if outcome else 0.0
        judged = played.draws if played and played.draws else ()
        expected = sum(draw.reward for draw in judged) / len(judged) if judged else reward
        observation = outcome.observation if outcome else parent.observation
        done, stop = self._ending(parent.depth + 1, outcome)
        if isinstance(result, Failure):
            search.errors.append(result.reason)
            done, stop = True, StopReason.ENV_ERROR
        added = candidate.sample.token_ids
        prefix = search.prefixes[parent.id]
        if not done:
            user = self._prompter.following(parent.depth + 1, observation, reward, turn)
            added = np.concatenate([added, self._renderer.delta(added, user)])
            stop = self._no_room(len(prefix) + len(added), len(prefix) + len(added) - len(search.prefixes[0]))
            if stop is not None:
                done, added = True, candidate.sample.token_ids
        node = Node(
            id=len(search.tree.nodes),
            parent=parent.id,
            depth=parent.depth + 1,
            token_ids=added,
            num_sampled=len(candidate.sample.token_ids),
            logprobs=candidate.sample.logprobs,
            turn=turn,
            finish=candidate.sample.finish,
            observation=observation,
            reward=reward,
            penalty=penalty,
            cumulative=parent.cumulative + reward + penalty,
            discounted=parent.discounted + self._rules.discount**parent.depth * (expected + penalty),
            potential=outcome.potential if outcome else parent.potential,
            score=score,
            done=done,
            stop=stop,
            success=bool(outcome and outcome.success),
            state_hash=outcome.state_hash if outcome else parent.state_hash,
            history=(*parent.history, turn.actions),
            stream=candidate.stream,
            policy_version=self._generator.version,
        )
        search.tree.add(node)
        if not done:
            search.handles[node.id] = outcome.handle if outcome else search.handles[parent.id]
            search.prefixes[node.id] = np.concatenate([prefix, added])
        return node

    def _penalty(self, turn: Turn) -> float:
        return 0.0 if turn.well_formed else -self._rules.format_penalty

    def _ending(self, depth: int, outcome: Outcome | None) -> tuple[bool, StopReason | None]:
        if outcome is not None and outcome.terminated:
            return True, StopReason.TERMINATED
        if outcome is not None and outcome.truncated:
            return True, StopReason.TRUNCATED
        if depth >= self._limits.turns:
            return True, StopReason.MAX_TURNS
        return False, None

    def _room(self, search: Search, used: int) -> int:
        """Tokens the next turn may have."""
        room = min(self._limits.turn_tokens, self._limits.context - used)
        if self._limits.trajectory_tokens is not None:
            room = min(room, self._limits.trajectory_tokens - (used - len(search.prefixes[0])))
        return room

    def _no_room(self, used: int, after_prompt: int) -> StopReason | None:
        if used >= self._limits.context:
            return StopReason.CONTEXT
        if self._limits.trajectory_tokens is not None and after_prompt >= self._limits.trajectory_tokens:
            return StopReason.TRAJECTORY_TOKENS
        return None


def truncated_turn(node: Node) -> bool:
    """Whether the turn was cut by its token limit."""
    return node.finish is FinishReason.LENGTH
