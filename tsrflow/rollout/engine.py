"""The rollout engine: drives all live searches together, one batched generator call per round.

A strategy is written for one task and yields ``Expand``; the engine gathers the requests of every live search, samples
all turns at once, has them played and scored, and sends the children back. Streams are derived from (seed, step, slot,
search, path), so a search gives the same tree whoever shares the batch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from tsrflow import streams
from tsrflow.config.base import EnvConfig
from tsrflow.errors import RunError
from tsrflow.protocols import Env, Scorer, SearchStrategy
from tsrflow.protocols import Generator as PolicyGenerator
from tsrflow.rollout.chat import ChatRenderer
from tsrflow.rollout.fork import Beat, Forker, Handle
from tsrflow.rollout.guard import Failure, Guard
from tsrflow.rollout.ledger import Ledger
from tsrflow.rollout.limits import Limits
from tsrflow.rollout.live import Search
from tsrflow.rollout.prompts import Prompter, parse_turn
from tsrflow.rollout.stream import Stream
from tsrflow.rollout.turns import Candidate, TurnPlayer, TurnRules
from tsrflow.types import GenerationRequest, IntArray, Node, StopReason, Task, TrajectoryTree

__all__ = ["Limits", "RolloutEngine", "Search", "TurnRules"]

NO_IDS = np.zeros(0, dtype=np.int32)
NO_LOGPROBS = np.zeros(0, dtype=np.float32)


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
        self._fork = env_config.fork_capability
        self._renderer = renderer
        self._prompter = prompter
        self._generator = generator
        self._limits = limits
        self._rules = rules
        self._parse_action = env_factory().parse_action
        self._guard = Guard(step_timeout, lambda: Forker(env_factory, env_config.fork_capability))
        self.ledger = Ledger()
        self._player = TurnPlayer(
            self._guard,
            renderer,
            prompter,
            scorer,
            limits,
            rules,
            self.ledger,
            deterministic=env_config.deterministic,
        )

    def open(
        self, task: Task, slot: int, index: int, strategy: SearchStrategy, keep: int, searched: bool, stream: int
    ) -> Search:
        """A search over ``task`` whose randomness comes from ``stream`` alone."""
        selections = Stream(streams.fold(stream, "select"))
        search = Search(task, slot, index, searched, TrajectoryTree(task), selections, keep)
        search.start(strategy, self._root(search, stream))
        return search

    def run(self, searches: Sequence[Search], temperature: float | None = None) -> None:
        """Grow every search until it returns its kept leaves (``Search.kept``)."""
        live = [search for search in searches if search.advance(None)]
        while live:
            children: dict[int, list[Node]] = {id(search): [] for search in live}
            candidates = self._sample(live, temperature)
            nodes = self._player.children(candidates, self._generator.version)
            for candidate, node in zip(candidates, nodes, strict=True):
                children[id(candidate.search)].append(node)
            live = [search for search in live if search.advance(children[id(search)])]

    def first_prompt_tokens(self, task: Task) -> int:
        """Length of the first prompt of ``task``. Raises RunError where the environment cannot start it."""
        started = self._start(task, 0)
        if isinstance(started, Failure):
            raise RunError(f"the environment cannot start task {task.id}: {started.reason}")
        return len(self._first_prompt(started[0]))

    def close(self) -> None:
        """Stop the environment thread."""
        self._guard.close()

    def _start(self, task: Task, seed: int) -> tuple[str, Handle, float | None, str] | Failure:
        def job(forker: Forker, beat: Beat) -> tuple[str, Handle, float | None, str]:
            observation, handle, env = forker.root(task, seed)
            if not isinstance(observation, str):
                raise ValueError(f"reset gave observation {observation!r}; it must be text")
            return observation, handle, env.potential(), env.state_hash()

        result: tuple[str, Handle, float | None, str] | Failure = self._guard.run([job])[0]
        return result

    def _root(self, search: Search, stream: int) -> Node:
        started = self._start(search.task, streams.fold(stream, "dynamics"))
        stop: StopReason | None
        if isinstance(started, Failure):
            search.errors.append(started.reason)
            observation, potential, state_hash = "", None, ""
            prompt, stop = NO_IDS, StopReason.ENV_ERROR
        else:
            observation, handle, potential, state_hash = started
            prompt = self._first_prompt(observation)
            stop = self._limits.exhausted(len(prompt), len(prompt))
            search.handles[0] = handle
            search.prefixes[0] = prompt
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
        return search.tree.add(root)

    def _first_prompt(self, observation: str) -> IntArray:
        return self._renderer.first_prompt(self._prompter.system(), self._prompter.first(observation))

    def _sample(self, live: Sequence[Search], temperature: float | None) -> list[Candidate]:
        """Sample what every search waits for; all children of one prefix go into one request, hence one prefill."""
        asked: list[tuple[Search, Node, int, list[int]]] = []
        requests: list[GenerationRequest] = []
        for search in live:
            assert search.pending is not None
            nodes, n = {node.id: node for node in search.pending.nodes}, search.pending.n
            times = Counter(node.id for node in search.pending.nodes)
            for node in nodes.values():
                first, count = len(search.tree.children[node.id]), times[node.id] * n
                if self._fork == "none" and first + count > 1:
                    raise RunError(
                        f"search strategy {search.strategy} continues a prefix more than once, but the environment of "
                        f"{search.task.id} declares fork 'none'"
                    )
                prefix = search.prefixes[node.id]
                search.requested_tokens += len(prefix) * count
                children = [streams.fold(node.stream, first + i) for i in range(count)]
                seeds = tuple(streams.fold(stream, "tokens") for stream in children)
                room = self._limits.room(len(prefix), len(search.prefixes[0]))
                requests.append(GenerationRequest(prefix, seeds, room))
                asked.append((search, node, n, children))
        samples = self._generator.generate(requests, temperature)
        candidates = []
        for (search, node, n, children), turns in zip(asked, samples, strict=True):
            for number, (stream, sample) in enumerate(zip(children, turns, strict=True)):
                text = self._renderer.decode(sample.token_ids)
                turn = parse_turn(text, self._parse_action, self._rules.actions_per_turn, self._rules.think)
                candidates.append(Candidate(search, node, stream, sample, turn, number // n))
        self.ledger.add(
            llm_calls=len(candidates),
            prefill_tokens=sum(len(request.prompt_ids) for request in requests),
            decode_tokens=sum(len(candidate.sample.token_ids) for candidate in candidates),
        )
        return candidates
