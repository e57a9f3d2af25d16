"""The limits of a rollout: three of tokens and one of turns, kept apart so that each has a stop reason of its own.

``used`` is the length of a prefix in tokens and ``first`` that of its first prompt; a prefix may be continued as long
as the next turn can have at least one token.
"""

from __future__ import annotations

from dataclasses import dataclass

from tsrflow.types import StopReason


@dataclass(frozen=True, slots=True)
class Limits:
    """Turn, trajectory and context limits in tokens, and the number of turns."""

    turn_tokens: int
    trajectory_tokens: int | None
    """Tokens after the first prompt, observations included."""
    context: int
    turns: int

    def room(self, used: int, first: int) -> int:
        """Tokens the next turn may have."""
        room = min(self.turn_tokens, self.context - used)
        if self.trajectory_tokens is not None:
            room = min(room, self.trajectory_tokens - (used - first))
        return room

    def exhausted(self, used: int, first: int) -> StopReason | None:
        """Which token limit leaves no room for another turn, if any."""
        if used >= self.context:
            return StopReason.CONTEXT
        if self.trajectory_tokens is not None and used - first >= self.trajectory_tokens:
            return StopReason.TRAJECTORY_TOKENS
        return None
