"""What the policy reads and how its answer is read: system text, turn text, and the parser of sampled turns.

A turn is ``<think>…</think><answer>a || b</answer>``; the think block is required only with ``rollout.think``. Neither
block nests, though thoughts may mention an answer. A turn that breaks the format asks for no action; an unknown action
is dropped. Both make the turn not *well formed*.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from tsrflow.types import Turn

SEPARATOR = "||"
_TURN = re.compile(
    r"\s*(?:<think>(?P<think>(?:(?!</?think>).)*)</think>)?"
    r"\s*<answer>(?P<answer>(?:(?!</?(?:think|answer)>).)*)</answer>\s*",
    re.DOTALL,
)


def parse_turn(text: str, parse_action: Callable[[str], str | None], max_actions: int, think: bool) -> Turn:
    """Read a sampled turn. Actions beyond ``max_actions`` are cut silently, as in the published set-up."""
    match = _TURN.fullmatch(text)
    if match is None or (think and match["think"] is None):
        return Turn(text, (), well_formed=False)
    wanted = [part.strip() for part in match["answer"].split(SEPARATOR)]
    parsed = [parse_action(part) for part in wanted]
    known = tuple(action for action in parsed if action is not None)
    return Turn(text, known[:max_actions], well_formed=len(known) == len(wanted) and bool(known))


class Prompter:
    """Composes the messages of an episode from the environment's instructions and observations."""

    def __init__(
        self,
        instructions: str,
        *,
        brief: bool,
        think: bool,
        actions_per_turn: int,
        max_turns: int,
        max_turn_tokens: int,
    ) -> None:
        self._instructions = instructions
        self._brief = brief
        self._think = think
        self._actions_per_turn = actions_per_turn
        self._max_turns = max_turns
        self._max_turn_tokens = max_turn_tokens

    def system(self) -> str:
        """System message: the rules, and unless brief, the answer format."""
        if self._brief:
            return self._instructions
        several = (
            f"You may give up to {self._actions_per_turn} actions in one answer, separated by {SEPARATOR}."
            if self._actions_per_turn > 1
            else "Give exactly one action in each answer."
        )
        return f"You act in a text environment, turn by turn.\n{self._instructions}\n{several}"

    def first(self, observation: str) -> str:
        """User message of the first turn."""
        return observation if self._brief else self._framed(1, observation)

    def following(self, depth: int, observation: str, reward: float, turn: Turn) -> str:
        """User message after ``depth`` turns, of which the last was ``turn`` and earned ``reward``."""
        notes = []
        if not turn.actions:
            notes.append("No valid action." if self._brief else "Your answer held no valid action; nothing changed.")
        if self._brief:
            return "\n".join([*notes, observation])
        return "\n".join([f"Reward: {reward:g}", *notes, self._framed(depth + 1, observation)])

    def _framed(self, turn: int, observation: str) -> str:
        form = "<answer>your actions</answer>"
        if self._think:
            form = "<think>your thoughts</think>" + form
        left = self._max_turns - turn + 1
        return (
            f"Turn {turn} ({left} left). State:\n{observation}\n"
            f"Answer with {form} and nothing else, in at most {self._max_turn_tokens} tokens."
        )
