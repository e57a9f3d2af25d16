"""A generator and an environment that do exactly what a test tells them: for golden trees and contract checks.

``ScriptedGenerator`` answers with given texts instead of sampling; ``TableEnv`` is a small tree of states given as a
table. Both implement the public protocols completely.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tsrflow import streams
from tsrflow.types import FinishReason, GenerationRequest, SampledTurn, Split, Task

Script = Callable[[str, int], str]
"""(text of the whole prompt, seed of the sample) -> text of the turn."""


class CharacterTokenizer:
    """One token per character, plus ``<|end|>``; enough of a tokenizer to render chats exactly."""

    eos_token_id = 0
    all_special_ids = (0,)
    chat_template = "inline"

    def __call__(self, text: str, add_special_tokens: bool = False) -> dict[str, list[int]]:
        ids: list[int] = []
        pieces = text.split("<|end|>")
        for number, piece in enumerate(pieces):
            ids += [ord(c) for c in piece]
            if number < len(pieces) - 1:
                ids.append(self.eos_token_id)
        return {"input_ids": ids}

    def decode(self, ids: Sequence[int], **_: Any) -> str:
        return "".join("<|end|>" if i == self.eos_token_id else chr(i) for i in ids)

    def apply_chat_template(
        self, messages: Sequence[Mapping[str, str]], tokenize: bool = False, add_generation_prompt: bool = False
    ) -> str:
        text = "".join(f"{m['role'][0]}:{m['content']}<|end|>" for m in messages)
        return text + ("a:" if add_generation_prompt else "")


class ScriptedGenerator:
    """Plays ``script``: deterministic in (prompt, seed), so it behaves like a policy with counter-based sampling.

    At temperature 0 the seed is 0. Every sampled token gets the log-prob of a uniform choice among ``choices``.
    """

    def __init__(self, script: Script, choices: int = 4) -> None:
        self._script = script
        self._logprob = -float(np.log(choices))
        self._tokenizer = CharacterTokenizer()
        self.stop_ids = frozenset({self._tokenizer.eos_token_id})
        self.version = 0
        self.requests: list[list[GenerationRequest]] = []
        """Every batch it was asked for, in order."""

    def generate(
        self, requests: Sequence[GenerationRequest], temperature: float | None = None
    ) -> list[list[SampledTurn]]:
        self.requests.append(list(requests))
        return [[self._turn(r, 0 if temperature == 0 else seed) for seed in r.seeds] for r in requests]

    def _turn(self, request: GenerationRequest, seed: int) -> SampledTurn:
        prompt = self._tokenizer.decode(request.prompt_ids.tolist())
        ids = [ord(c) for c in self._script(prompt, seed)] + [self._tokenizer.eos_token_id]
        cut = len(ids) > request.max_tokens
        ids = ids[: request.max_tokens]
        logprobs = np.full(len(ids), self._logprob / len(ids), dtype=np.float32)
        return SampledTurn(np.asarray(ids, np.int32), logprobs, FinishReason.LENGTH if cut else FinishReason.STOP)

    def sync(self, model: Any, version: int) -> None:
        self.version = version

    def close(self) -> None: ...


class TableEnv:
    """States are strings of the actions taken so far; ``table`` gives (reward, terminated, success, potential) of some.

    A state that is missing from the table gives reward 0, goes on, and has potential 0. With ``noise`` the reward of a
    step gets a draw of the dynamics stream in (-noise, noise) added.
    """

    def __init__(
        self,
        table: Mapping[str, tuple[float, bool, bool, float]],
        actions: Sequence[str] = ("a", "b", "c", "d"),
        noise: float = 0.0,
    ) -> None:
        self._table = table
        self._actions = tuple(actions)
        self._noise = noise
        self._path = ""
        self._dynamics = 0
        self.steps = 0
        """Calls of ``step`` in total."""

    def instructions(self, brief: bool) -> str:
        return "play"

    def task(self, split: Split, index: int) -> Task:
        return Task("table", split, index, streams.fold(index, split))

    def reset(self, task: Task) -> tuple[str, dict[str, Any]]:
        self._path, self._dynamics = "", task.seed
        return "at start", {}

    def seed_dynamics(self, seed: int) -> None:
        self._dynamics = seed

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self.steps += 1
        if action not in self._actions:
            return f"at {self._path}", 0.0, False, False, {"success": False, "invalid": True}
        self._path += action
        self._dynamics = streams.fold(self._dynamics, 1)
        reward, terminated, success, _ = self._table.get(self._path, (0.0, False, False, 0.0))
        reward += self._noise * (2.0 * (self._dynamics / 2**64) - 1.0)
        return f"at {self._path}", reward, terminated, False, {"success": success}

    def parse_action(self, text: str) -> str | None:
        return text if text in self._actions else None

    def legal_actions(self) -> Sequence[str]:
        return self._actions

    def snapshot(self) -> tuple[str, int]:
        return self._path, self._dynamics

    def restore(self, snapshot: tuple[str, int]) -> None:
        self._path, self._dynamics = snapshot

    def state_hash(self) -> str:
        return self._path

    def potential(self) -> float | None:
        return self._table.get(self._path, (0.0, False, False, 0.0))[3]

    def render_ansi(self) -> str:
        return self._path or "start"
