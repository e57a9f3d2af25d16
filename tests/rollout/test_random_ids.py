"""A policy that says random tokens goes through the whole engine: nothing breaks, nothing is re-encoded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rollout import tokenizers_zoo as zoo
from tests.scripted import Bench
from tsrflow import streams
from tsrflow.components.search.beam import Beam
from tsrflow.components.search.config import BeamConfig
from tsrflow.rollout.chat import ChatRenderer
from tsrflow.rollout.engine import Limits, RolloutEngine, TurnRules
from tsrflow.rollout.groups import build_group
from tsrflow.rollout.prompts import Prompter
from tsrflow.types import FinishReason, GenerationRequest, SampledTurn, StopReason

TOKENIZERS = [
    make(t) for make in (zoo.byte_level, zoo.word_level) for t in (zoo.CHATML, zoo.DROPS_THOUGHTS, zoo.NO_SYSTEM)
]


class Babbling:
    """Every token is drawn evenly from the vocabulary; stop ids end a turn as they come."""

    def __init__(self, tokenizer: Any) -> None:
        self.size = len(tokenizer)
        self.stop_ids = zoo.stop_ids(tokenizer)
        self.version = 0
        self.said: list[tuple[list[int], list[int]]] = []

    def generate(
        self, requests: Sequence[GenerationRequest], temperature: float | None = None
    ) -> list[list[SampledTurn]]:
        return [[self._turn(request, seed) for seed in request.seeds] for request in requests]

    def _turn(self, request: GenerationRequest, seed: int) -> SampledTurn:
        random = streams.generator(seed)
        ids: list[int] = []
        while len(ids) < request.max_tokens and not (ids and ids[-1] in self.stop_ids):
            end = random.random() < 0.15
            ids.append(int(random.choice(sorted(self.stop_ids))) if end else int(random.integers(self.size)))
        self.said.append((request.prompt_ids.tolist(), ids))
        finish = FinishReason.STOP if ids[-1] in self.stop_ids else FinishReason.LENGTH
        return SampledTurn(np.asarray(ids, np.int32), np.full(len(ids), -1.0, np.float32), finish)

    def sync(self, model: Any, version: int) -> None: ...

    def close(self) -> None: ...


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**30), st.sampled_from(TOKENIZERS))
def test_random_tokens_over_five_turns(seed: int, tokenizer: Any) -> None:
    policy, bench = Babbling(tokenizer), Bench({}, max_turns=5)
    engine = RolloutEngine(
        bench.config,
        lambda: bench.env,
        ChatRenderer(tokenizer, policy.stop_ids),
        Prompter("play", brief=True, think=False, actions_per_turn=2, max_turns=5, max_turn_tokens=12),
        policy,
        bench.engine._player._scorer,
        Limits(12, 150, 4096, 5),
        TurnRules(2, False, 0.1, 1.0, False, 0),
        5.0,
    )
    search = engine.open(bench.env.task("train", 0), 0, 0, Beam(BeamConfig(width=2, candidates=2)), 2, True, seed)
    engine.run([search])
    engine.close()
    said = [(prompt, ids) for prompt, ids in policy.said]
    for node in search.tree.nodes[1:]:
        assert node.parent is not None
        prompt, ids = search.tree.token_ids(node.parent).tolist(), node.token_ids[: node.num_sampled].tolist()
        assert (prompt, ids) in said
        assert search.tree.token_ids(node.id).tolist()[: len(prompt) + len(ids)] == prompt + ids
    assert all(leaf.stop in (StopReason.MAX_TURNS, StopReason.TRAJECTORY_TOKENS) for leaf in search.kept)
    group, _ = build_group(search.task, [search])
    for trajectory in group.trajectories:
        # a sampled end token stays trainable although it is also the padding token
        ends = [i for i, token in enumerate(trajectory.token_ids) if token in policy.stop_ids and trajectory.sampled[i]]
        finished = sum(node.finish is FinishReason.STOP for node in trajectory.path[1:])
        assert len(ends) == finished
