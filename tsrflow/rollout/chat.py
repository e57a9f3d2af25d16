"""Token-exact chat rendering: prompts are built from **deltas**, nothing sampled is ever decoded and encoded again.

The tokenizer's chat template is probed once with marker strings; from then on a turn adds its sampled ids, followed by
the ids of whatever the template puts between that turn and the next one. Where the template is append-only the result
equals the template's own rendering; where it is not (it drops earlier ``<think>`` blocks, strips content, …) the deltas
are still appended (*append mode*) and ``TemplateReport`` says what differs.

Knows nothing of environments or search.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from tsrflow.errors import RunError
from tsrflow.types import IntArray

_SYSTEM, _USER, _REPLY, _NEXT = "tsrflowsystem", "tsrflowuser", "tsrflowreply", "tsrflownext"
_PROBE_REPLIES = (
    "<think>first thought</think><answer>Up</answer>",
    "<think>second</think><answer>Left || Up</answer>",
    "<think>third</think><answer>Up</answer>\n",
)
_THINK = "<think>"
_CACHED_DELTAS = 8192


@dataclass(frozen=True, slots=True)
class TemplateReport:
    """What ``check_template`` found: ``append_only`` and, where it is False, the ``reason`` in one sentence."""

    append_only: bool
    reason: str = ""
    system_in_user: bool = False
    """The template has no system role; the system text is put before the first user message."""


class ChatRenderer:
    """Renders the first prompt and the delta after each sampled turn as token ids.

    Raises RunError where the tokenizer has no usable chat template.
    """

    def __init__(self, tokenizer: Any, stop_ids: Collection[int]) -> None:
        self._tokenizer = tokenizer
        self._stop_ids = frozenset(stop_ids)
        if not getattr(tokenizer, "chat_template", None):
            raise RunError("the model's tokenizer has no chat template; tsrflow renders prompts from it")
        self._system_in_user = not self._accepts_system()
        self._between, self._tail = self._probe()
        self._between_ids = self._encode(self._between)
        opened = self._tail.rstrip().endswith(_THINK)
        self._primer = self._tail[self._tail.rindex(_THINK) :] if opened else ""
        self._following = lru_cache(maxsize=_CACHED_DELTAS)(self._encode_following)
        self.report = self._check()

    def first_prompt(self, system: str, user: str) -> IntArray:
        """int32 [T]: system and first user message, ready for the policy's first turn."""
        return np.asarray(self._encode(self._render(self._opening(system, user), True)), dtype=np.int32)

    def delta(self, sampled: IntArray, user: str) -> IntArray:
        """int32 [O]: the ids that follow a ``sampled`` turn: its closing (unless that was sampled as its stop id), then
        the next user message and the opening of the next turn."""
        ids = self._following(user.strip())
        last = int(sampled[-1]) if len(sampled) else None
        if last in self._stop_ids and last in self._between_ids:
            return ids[self._between_ids.index(last) + 1 :]
        return ids

    def decode(self, sampled: IntArray) -> str:
        """Text of a sampled turn without its stop id; for parsing and for people, never encoded again.

        A ``<think>`` that the template has already opened for the turn is part of the text.
        """
        ids = [int(i) for i in sampled]
        if ids and ids[-1] in self._stop_ids:
            ids = ids[:-1]
        text = self._tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False)
        return f"{self._primer}{text}"

    def closing_id(self) -> int | None:
        """First id the template puts after a reply, where it is a special token: it ends a turn."""
        first = self._between_ids[0] if self._between_ids else None
        return first if first in set(self._tokenizer.all_special_ids) else None

    def _encode(self, text: str) -> tuple[int, ...]:
        return tuple(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def _encode_following(self, user: str) -> IntArray:
        ids = np.asarray(self._encode(self._between + user + self._tail), dtype=np.int32)
        ids.setflags(write=False)
        return ids

    def _render(self, messages: list[dict[str, str]], generation_prompt: bool) -> str:
        return str(
            self._tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=generation_prompt)
        )

    def _opening(self, system: str, user: str) -> list[dict[str, str]]:
        system, user = system.strip(), user.strip()
        if not system:
            return [{"role": "user", "content": user}]
        if self._system_in_user:
            return [{"role": "user", "content": f"{system}\n\n{user}"}]
        return [{"role": "system", "content": system}, {"role": "user", "content": user}]

    def _accepts_system(self) -> bool:
        messages = [{"role": "system", "content": _SYSTEM}, {"role": "user", "content": _USER}]
        try:
            return _SYSTEM in self._render(messages, True)
        except Exception:  # templates raise whatever their author chose
            return False

    def _probe(self) -> tuple[str, str]:
        """(text between a reply and the next user content, text after that up to the next reply)."""
        messages = [
            *self._opening(_SYSTEM, _USER),
            {"role": "assistant", "content": _REPLY},
            {"role": "user", "content": _NEXT},
        ]
        try:
            text = self._render(messages, True)
        except Exception as error:
            raise RunError(f"the model's chat template cannot render a second user turn: {error}") from error
        if text.count(_REPLY) != 1 or text.count(_NEXT) != 1 or text.index(_REPLY) > text.index(_NEXT):
            raise RunError("the model's chat template does not show each message once and in order")
        between, tail = text.split(_REPLY)[1].split(_NEXT)
        return between, tail

    def _check(self) -> TemplateReport:
        """Compare the template's own rendering of a conversation with the concatenated deltas, as token ids."""
        messages = self._opening(_SYSTEM, _USER)
        ids = list(self.first_prompt(_SYSTEM, _USER))
        for number, sampled in enumerate(_PROBE_REPLIES, start=1):
            reply = self._primer + sampled
            ids += [*self._encode(sampled), *self._encode(self._between + _NEXT + self._tail)]
            messages += [{"role": "assistant", "content": reply}, {"role": "user", "content": _NEXT}]
            whole = self._render(messages, True)
            if list(self._encode(whole)) != ids:
                reason = f"after turn {number} the template no longer renders what the policy saw"
                return TemplateReport(False, f"{reason}: {_difference(reply, whole)}", self._system_in_user)
        return TemplateReport(True, system_in_user=self._system_in_user)


def _difference(reply: str, whole: str) -> str:
    if reply in whole:
        return "it puts other text or token boundaries around earlier messages"
    if reply.strip() in whole:
        return "it strips white space around replies"
    return "it changes or drops part of earlier replies"


def check_template(tokenizer: Any, stop_ids: Collection[int] = ()) -> TemplateReport:
    """Whether ``tokenizer``'s chat template is prefix-preserving over several turns with ``<think>`` blocks."""
    return ChatRenderer(tokenizer, stop_ids).report
