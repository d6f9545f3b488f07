"""Searches in one variable."""

from __future__ import annotations

from collections.abc import Callable, Sequence

__all__ = ["bracket", "minimize_around_grid", "minimize_on_interval", "smallest_argument"]

# Arguments beyond this are not searched.
LARGEST_ARGUMENT = 1e120
# What an infinite value counts as in a search for a minimum.
LARGE = 1e100


def bracket(
    holds: Callable[[float], bool], low: float, high: float, *, tolerance: float = 1e-13
) -> tuple[float, float]:
    """Neighbouring (fails, holds) arguments of a condition that fails at `low` and holds at `high`.

    Neither end is tried. `tolerance` is relative to the argument.
    """
    while abs(high - low) > tolerance * abs(high):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low, high


def smallest_argument(holds: Callable[[float], bool]) -> tuple[float, float]:
    """Neighbouring (fails, holds) arguments of a monotone condition on [0, inf).

    Twice 0 if it holds there, and infinite if it holds nowhere up to 1e120.
    """
    if holds(0.0):
        return 0.0, 0.0
    low, high = 0.0, 1.0
    while not holds(high):
        low, high = high, 2 * high
        if high > LARGEST_ARGUMENT:
            return low, float("inf")
    return bracket(holds, low, high)


def minimize_on_interval(
    function: Callable[[float], float], low: float, high: float, *, tolerance: float = 1e-5
) -> float:
    """Where a function is smallest between two numbers; Brent's method.

    The function may be infinite: for the search that is a large number.
    """
    from scipy.optimize import minimize_scalar

    found = minimize_scalar(
        lambda x: min(function(x), LARGE),
        bounds=(low, high),
        method="bounded",
        options={"xatol": tolerance},
    )
    return float(found.x)


def minimize_around_grid(
    function: Callable[[float], float], grid: Sequence[float], *, tolerance: float
) -> float:
    """Where a function is smallest: the best point of the grid, refined between its neighbours.

    For functions with plateaus and jumps, in which a search alone might get stuck.
    """
    values = [function(x) for x in grid]
    best = min(range(len(grid)), key=values.__getitem__)
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    refined = minimize_on_interval(function, low, high, tolerance=tolerance)
    return refined if function(refined) < values[best] else grid[best]
