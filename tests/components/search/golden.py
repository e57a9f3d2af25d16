"""Writes policies and trees down compactly, so that a golden tree can be checked by hand.

A *plan* gives, for a node (named by the child numbers on the way to it, ``""`` is the root), its children's actions:
``{"": "ab-", "0": "cc"}`` lets the first child of the root play a, the second b, the third break the format, and both
children of the first one play c. ``?`` is an action that the environment does not know, ``A`` stands for a followed by
an unknown one.
"""

from __future__ import annotations

from collections.abc import Mapping

from tests.scripted import answer
from tsrflow import streams
from tsrflow.rollout.live import Search
from tsrflow.testing.scripted import Script
from tsrflow.types import Node

BROKEN = "no answer block"


def planned(plan: Mapping[str, str], *, stream: int = 0, spare: str = "a") -> Script:
    """The policy of ``plan`` for the search on ``stream``; a child that it does not name plays ``spare``."""
    texts: dict[int, str] = {}
    for path, children in plan.items():
        node = stream
        for number in path:
            node = streams.fold(node, int(number))
        for number, action in enumerate(children):
            texts[streams.fold(streams.fold(node, number), "tokens")] = _text(action)
    return lambda prompt, seed: texts.get(seed, answer(spare))


def _text(action: str) -> str:
    if action == "-":
        return BROKEN
    if action == "?":
        return answer("z")
    return answer(action + "z" if action.isupper() else action).replace(action, action.lower())


def path_of(search: Search, node: Node) -> str:
    """The child numbers from the root to ``node``."""
    numbers = ""
    for step in search.tree.path(node.id)[1:]:
        assert step.parent is not None
        numbers += str(search.tree.children[step.parent].index(step.id))
    return numbers


def outline(search: Search) -> str:
    """The tree as text, one line per node in order of creation: path, action, score, how it ended; ``*``: kept.

    A trailing ``!`` marks a turn that is not well formed, ``~`` one without an action.
    """
    kept = {leaf.id for leaf in search.kept}
    lines = []
    for node in search.tree.nodes[1:]:
        assert node.turn is not None
        action = "".join(node.turn.actions) or "~"
        mark = "" if node.turn.well_formed else "!"
        stop = f" {node.stop.value}" if node.stop else ""
        won = "+success" if node.success else ""
        star = " *" if node.id in kept else ""
        lines.append(f"{path_of(search, node)} {action}{mark} {round(node.score, 6):g}{stop}{won}{star}")
    return "\n".join(lines)


def lines(text: str) -> str:
    """A triple-quoted golden tree without its indentation."""
    return "\n".join(line.strip() for line in text.strip().splitlines())


def selections(search: Search) -> list[tuple[list[str], list[str], bool]]:
    """The log of decisions with paths instead of ids: (candidates, kept, tied)."""
    nodes = search.tree.nodes
    return [
        (
            [path_of(search, nodes[i]) for i in selection.candidates],
            [path_of(search, nodes[i]) for i in selection.kept],
            selection.tied,
        )
        for selection in search.tree.selections
    ]
