"""How far a state is from being solved: a matching of boxes to targets by true pushing cost, and a score made of it.

For one box the estimate is exact. For several it adds up what each box needs alone under the best assignment, plus the
player's way to the box that is handled next; boxes standing in each other's way are seen only where a box is frozen.
"""

from __future__ import annotations

import math

from tsrflow.components.envs.sokoban.board import NEVER, Board
from tsrflow.components.envs.sokoban.matching import assign

DEAD = -1.0
"""Potential of a state that is known to be lost."""
AT_BUDGET = -0.5
"""Potential of a state whose remaining moves are as many as an episode has actions."""
FLOOR = -0.7
"""Living states stay above this."""


def moves_left(board: Board, player: int, boxes: tuple[int, ...]) -> int:
    """Estimate of the moves until all boxes are on targets; NEVER where the state is known to be lost.

    Lost are: a box on a dead cell, boxes that cannot all get to different targets, a box frozen off its target. Never
    says so of a state that can be solved.
    """
    if all(board.is_target[box] for box in boxes):
        return 0
    needs = [board.lone_moves(box, player) for box in boxes]
    total, targets = assign(needs)
    if total >= NEVER or board.frozen(boxes):
        return NEVER
    walk = board.walks(player, boxes)
    detours = []
    for box, need, target in zip(boxes, needs, targets, strict=True):
        if need[target] == 0:
            continue
        costs = board.moves[target]
        stands = [s for s in range(box * 4, box * 4 + 4) if costs[s] < NEVER and board.reach[s][player] < NEVER]
        ways = [(walk[box - board.deltas[s % 4]], board.reach[s][player], costs[s] - need[target]) for s in stands]
        free = [way + more for way, _, more in ways if way < NEVER]
        detours.append(min(free) if free else min(way + more for _, way, more in ways))
    return total + min(detours, default=0)


def potential(left: int, budget: int) -> float:
    """Score in [-1, 1] of ``left`` moves to go, for episodes of ``budget`` actions.

    1 when solved, then falling by 1.5/budget per move to -0.5 at ``budget`` moves, flattening out above -0.7 beyond,
    and -1 where the state is lost. At the default budget of ten one useful move gains more than its step costs.
    """
    if left >= NEVER:
        return DEAD
    if left <= budget:
        return 1.0 - (1.0 - AT_BUDGET) * left / budget
    return FLOOR + (AT_BUDGET - FLOOR) * math.exp(1.0 - left / budget)
