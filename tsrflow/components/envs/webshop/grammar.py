"""``search[words]`` and ``click[thing]``: reading actions as the original does, in linear time.

The original matches ``(.+)\\[(.+)\\]`` at the start of the text: both parts greedy, neither crosses a line break, text
after the last bracket is ignored, the name is case-sensitive and the argument is lower-cased but not stripped.
"""

from __future__ import annotations

import re

MAX_ACTION = 4096
"""Characters an action may have; longer ones are invalid."""
_MARKUP = re.compile(r"<\s*[/!?]?\s*[a-z][^<>]*>", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
HIDDEN_KEYWORDS = ("<r>", "<c>", "<q>", "<a>")
"""First words of a query that make the original bypass its search engine."""


def split_action(text: str) -> tuple[str, str] | None:
    """(name, lower-cased argument) of ``text``, or None where it is no action of the original's grammar."""
    if len(text) > MAX_ACTION:
        return None
    line = text.split("\n", 1)[0]
    close = line.rfind("]")
    open_ = line.rfind("[", 1, close - 1) if close >= 3 else -1
    if open_ < 1:
        return None
    return line[:open_], line[open_ + 1 : close].lower()


def is_suspicious(query: str) -> bool:
    """Whether ``query`` holds markup (the hidden keywords look like tags) or control characters."""
    return bool(_MARKUP.search(query) or _CONTROL.search(query))


def canonical(text: str, mended: bool) -> str | None:
    """The action in ``text`` as ``step`` wants it, or None. ``mended``: refuse suspicious queries too."""
    parts = split_action(text)
    if parts is None or parts[0] not in ("search", "click"):
        return None
    name, argument = parts
    if mended and (_CONTROL.search(argument) or (name == "search" and is_suspicious(argument))):
        return None
    return f"{name}[{argument}]"
