"""Plays and scores the sampled turns of one round and turns them into nodes of their trees.

Candidates of one prefix that ask for the same actions are one execution. Under ``honest`` a turn is also executed
several times with other draws of the dynamics; its score is the mean over those, and what is kept is the fresh one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from tsrflow import streams
from tsrflow.protocols import Env, Scorer
from tsrflow.rollout.chat import ChatRenderer
from tsrflow.rollout.fork import Beat, Forker, Outcome, play_turn
from tsrflow.rollout.guard import Failure, Guard, Job
from tsrflow.rollout.ledger import Ledger
from tsrflow.rollout.limits import Limits
from tsrflow.rollout.live import Search
from tsrflow.rollout.prompts import Prompter
from tsrflow.rollout.scoring import score_contexts
from tsrflow.types import IntArray, Node, SampledTurn, ScoringContext, StopReason, Turn


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


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sampled turn that would continue ``parent``; ``stream`` is the seed of everything random below it."""

    search: Search
    parent: Node
    stream: int
    sample: SampledTurn
    turn: Turn
    rollout: int
    """Position among the times the strategy listed ``parent``: different ones are independent continuations."""


@dataclass(frozen=True, slots=True)
class _Played:
    """A turn executed once for keeps and, under ``honest``, several times for its score."""

    outcome: Outcome
    draws: tuple[Outcome, ...]


@dataclass(frozen=True, slots=True)
class _Ending:
    """What follows a sampled turn: the ids it adds to its prefix [S+O], and why the trajectory ends there, if so."""

    added: IntArray
    stop: StopReason | None


_Result = _Played | Failure | None
"""None: nothing was executed, the state stays."""


class TurnPlayer:
    """From candidates to child nodes. Keeps no state besides the ledger it counts environment steps in."""

    def __init__(
        self,
        guard: Guard[Forker],
        renderer: ChatRenderer,
        prompter: Prompter,
        scorer: Scorer,
        limits: Limits,
        rules: TurnRules,
        ledger: Ledger,
        *,
        deterministic: bool,
    ) -> None:
        self._guard = guard
        self._renderer = renderer
        self._prompter = prompter
        self._scorer = scorer
        self._limits = limits
        self._rules = rules
        self._ledger = ledger
        self._deterministic = deterministic

    def children(self, candidates: Sequence[Candidate], version: int) -> list[Node]:
        """Play, score and add one node per candidate, in order. Raises RunError where the scorer is at fault."""
        results = self._play(candidates)
        scores = self._score(candidates, results)
        return [
            self._child(candidate, result, score, version)
            for candidate, result, score in zip(candidates, results, scores, strict=True)
        ]

    def _play(self, candidates: Sequence[Candidate]) -> list[_Result]:
        """Execute each distinct (parent, actions) once; where dynamics are random, once per independent rollout."""
        known: dict[tuple[int, int, tuple[str, ...], int], int] = {}
        jobs: list[Job[Forker]] = []
        job_of: list[int | None] = []
        for candidate in candidates:
            if not candidate.turn.actions and not self._scorer.privileged:
                job_of.append(None)
                continue
            rollout = 0 if self._deterministic else candidate.rollout
            key = (id(candidate.search), candidate.parent.id, candidate.turn.actions, rollout)
            if key not in known:
                known[key] = len(jobs)
                jobs.append(partial(self._play_one, candidate))
            job_of.append(known[key])
        played: list[_Played | Failure] = self._guard.run(jobs)
        done = [result for result in played if isinstance(result, _Played)]
        self._ledger.add(env_steps=sum(o.steps for result in done for o in (result.outcome, *result.draws)))
        return [None if job is None else played[job] for job in job_of]

    def _play_one(self, candidate: Candidate, forker: Forker, beat: Beat) -> _Played:
        if not candidate.turn.actions:  # only a privileged scorer looks at the unchanged state
            return _Played(self._execute(candidate, None, True, forker, beat), ())
        draws = self._rules.scoring_draws if candidate.search.searched else 0
        seeds = [streams.fold(candidate.stream, "draw", i) for i in range(draws)]
        scored = tuple(self._execute(candidate, seed, True, forker, beat) for seed in seeds)
        fresh = None if self._rules.clairvoyant else streams.fold(candidate.stream, "dynamics")
        return _Played(self._execute(candidate, fresh, draws == 0, forker, beat), scored)

    def _execute(self, candidate: Candidate, seed: int | None, scored: bool, forker: Forker, beat: Beat) -> Outcome:
        handle = candidate.search.handles[candidate.parent.id]
        outcome, env = play_turn(forker, handle, seed, candidate.turn.actions, candidate.parent.observation, beat)
        if scored and self._scorer.privileged:
            (score,) = score_contexts(self._scorer, [self._context(candidate, outcome, env)])
            return replace(outcome, score=score)
        return outcome

    def _score(self, candidates: Sequence[Candidate], results: Sequence[_Result]) -> list[float]:
        """One score per candidate: the mean over the executions it is judged by; -inf where the environment failed."""
        judged = [_judged_by(result) for result in results]
        contexts = [
            self._context(candidate, outcome, None)
            for candidate, outcomes in zip(candidates, judged, strict=True)
            for outcome in outcomes
            if outcome is None or outcome.score is None
        ]
        scored = iter(score_contexts(self._scorer, contexts))
        scores = []
        for outcomes in judged:
            values = [next(scored) if o is None or o.score is None else o.score for o in outcomes]
            scores.append(sum(values) / len(values) if values else float("-inf"))
        return scores

    def _context(self, candidate: Candidate, outcome: Outcome | None, env: Env | None) -> ScoringContext:
        parent, turn = candidate.parent, candidate.turn
        penalty = self._penalty(turn)
        reward = outcome.reward if outcome else 0.0
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
            done=self._ending(candidate, outcome).stop is not None,
            success=outcome.success if outcome else False,
            history=(*parent.history, turn.actions),
            info=outcome.info if outcome else {},
            env=env,
        )

    def _child(self, candidate: Candidate, result: _Result, score: float, version: int) -> Node:
        search, parent, turn = candidate.search, candidate.parent, candidate.turn
        played = result if isinstance(result, _Played) else None
        outcome = played.outcome if played else None
        penalty, reward = self._penalty(turn), outcome.reward if outcome else 0.0
        draws = played.draws if played else ()
        expected = sum(draw.reward for draw in draws) / len(draws) if draws else reward
        if isinstance(result, Failure):
            search.errors.append(result.reason)
            ending = _Ending(candidate.sample.token_ids, StopReason.ENV_ERROR)
        else:
            ending = self._ending(candidate, outcome)
        node = Node(
            id=len(search.tree.nodes),
            parent=parent.id,
            depth=parent.depth + 1,
            token_ids=ending.added,
            num_sampled=len(candidate.sample.token_ids),
            logprobs=candidate.sample.logprobs,
            turn=turn,
            finish=candidate.sample.finish,
            observation=outcome.observation if outcome else parent.observation,
            reward=reward,
            penalty=penalty,
            cumulative=parent.cumulative + reward + penalty,
            discounted=parent.discounted + self._rules.discount**parent.depth * (expected + penalty),
            potential=outcome.potential if outcome else parent.potential,
            score=score,
            done=ending.stop is not None,
            stop=ending.stop,
            success=bool(outcome and outcome.success),
            state_hash=outcome.state_hash if outcome else parent.state_hash,
            history=(*parent.history, turn.actions),
            stream=candidate.stream,
            policy_version=version,
        )
        search.tree.add(node)
        if not node.done:
            search.handles[node.id] = outcome.handle if outcome else search.handles[parent.id]
            search.prefixes[node.id] = np.concatenate([search.prefixes[parent.id], ending.added])
        return node

    def _penalty(self, turn: Turn) -> float:
        return 0.0 if turn.well_formed else -self._rules.format_penalty

    def _ending(self, candidate: Candidate, outcome: Outcome | None) -> _Ending:
        sampled, depth = candidate.sample.token_ids, candidate.parent.depth + 1
        if outcome is not None and outcome.terminated:
            return _Ending(sampled, StopReason.TERMINATED)
        if outcome is not None and outcome.truncated:
            return _Ending(sampled, StopReason.TRUNCATED)
        if depth >= self._limits.turns:
            return _Ending(sampled, StopReason.MAX_TURNS)
        observation = outcome.observation if outcome else candidate.parent.observation
        user = self._prompter.following(depth, observation, outcome.reward if outcome else 0.0, candidate.turn)
        added = np.concatenate([sampled, self._renderer.delta(sampled, user)])
        prefixes = candidate.search.prefixes
        stop = self._limits.exhausted(len(prefixes[candidate.parent.id]) + len(added), len(prefixes[0]))
        return _Ending(added, None) if stop is None else _Ending(sampled, stop)


def _judged_by(result: _Result) -> Sequence[Outcome | None]:
    if isinstance(result, Failure):
        return ()
    if result is None:
        return (None,)
    return result.draws or (result.outcome,)
