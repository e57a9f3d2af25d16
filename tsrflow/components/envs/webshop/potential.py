"""Progress of a shopping session in [-1, 1]. It reads the goal's hidden attributes: for search in training only.

A page is worth its stage plus how much of the goal it satisfies. ``now`` is the reward of buying at once, ``best`` what
the product can still give with the right options:

    search page 0, results 0.1 + 0.35 · best of the listed products (2 % off per place down the list),
    item 0.25 + 0.35 · best + 0.35 · now, sub page as its item minus 0.05,
    bought: 1 for a full score, else score - 1, out of actions -1.
"""

from __future__ import annotations

from tsrflow.components.envs.webshop.catalogue import World
from tsrflow.components.envs.webshop.goals import Goal
from tsrflow.components.envs.webshop.reward import reward
from tsrflow.components.envs.webshop.session import Rules, Session

_RESULTS, _ITEM, _DETOUR, _SHARE, _PLACE = 0.1, 0.25, 0.05, 0.35, 0.02


def potential(session: Session, goal: Goal, world: World, rules: Rules, truncated: bool) -> float:
    """Progress of ``session`` towards ``goal``."""
    if session.page == "done":
        return 1.0 if session.score == 1.0 else (session.score or 0.0) - 1.0
    if truncated:
        return -1.0
    if session.page == "results":
        worth = [
            (1 - _PLACE * place) * _best(goal, product, world)
            for place, product in enumerate(session.listed(rules.per_page))
        ]
        return _RESULTS + _SHARE * max(worth) if worth else 0.0
    if session.product is None:
        return 0.0
    now = reward(goal, world.match(goal, session.product), (value for _, value in session.options)).value
    value = _ITEM + _SHARE * (_best(goal, session.product, world) + now)
    return value - _DETOUR if session.page == "sub" else value


def _best(goal: Goal, product: int, world: World) -> float:
    """Reward of the product with every option value it has: what the best choice could give, or a little more."""
    offered = (value for _, values in world.products[product].options for value in values)
    return reward(goal, world.match(goal, product), offered).value
