"""Exact assignment of boxes to targets at least total cost."""

from __future__ import annotations

from collections.abc import Sequence


def assign(costs: Sequence[Sequence[int]]) -> tuple[int, list[int]]:
    """(least total, column of every row) for a square table of costs.

    The Hungarian method with row and column prices, one row after the other: O(n**3) (Jonker & Volgenant 1987).
    """
    n = len(costs)
    if n == 1:
        return costs[0][0], [0]
    row_price, column_price = [0] * n, [0] * (n + 1)
    row_at = [-1] * (n + 1)  # row matched to each column; column n is where a new row enters
    for row in range(n):
        row_at[n] = row
        column = n
        least = [1 << 60] * n
        came_from = [n] * n
        used: set[int] = set()
        while row_at[column] != -1:
            used.add(column)
            here, gap, following = row_at[column], 1 << 60, n
            for other in range(n):
                if other in used:
                    continue
                reduced = costs[here][other] - row_price[here] - column_price[other]
                if reduced < least[other]:
                    least[other], came_from[other] = reduced, column
                if least[other] < gap:
                    gap, following = least[other], other
            for seen in used:
                row_price[row_at[seen]] += gap
                column_price[seen] -= gap
            for other in range(n):
                if other not in used:
                    least[other] -= gap
            column = following
        while column != n:
            row_at[column] = row_at[came_from[column]]
            column = came_from[column]
    columns = [0] * n
    for column in range(n):
        columns[row_at[column]] = column
    return sum(costs[row][columns[row]] for row in range(n)), columns
