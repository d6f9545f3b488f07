"""Functions of SciPy, imported on first use: the import takes a fifth of a second."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

__all__ = [
    "binomial_above",
    "binomial_masses",
    "binomial_up_to",
    "erfcx",
    "log_ndtr",
    "minimize_around_grid",
    "minimize_on_interval",
    "ndtri_exp",
]

# What an infinite value counts as in a search.
LARGE = 1e100


def binomial_above(count: Any, trials: Any, chance: float = 0.5) -> Any:
    """Pr[X > count] for arrays."""
    from scipy.special import bdtrc

    return bdtrc(count, trials, chance)


def binomial_up_to(count: Any, trials: Any, chance: float) -> Any:
    """Pr[X <= count] for arrays."""
    from scipy.special import bdtr

    return bdtr(count, trials, chance)


def binomial_masses(count: Any, trials: int, chance: float) -> Any:
    """Pr[X = count] for an array of counts."""
    import numpy as np
    from scipy.special import gammaln, xlog1py, xlogy

    ways = gammaln(trials + 1) - gammaln(count + 1) - gammaln(trials - count + 1)
    return np.exp(ways + xlogy(count, chance) + xlog1py(trials - count, -chance))


def erfcx(x: Any) -> Any:
    """The scaled complementary error function e^(x^2) erfc(x)."""
    from scipy.special import erfcx as function

    return function(x)


def log_ndtr(x: Any) -> Any:
    """Log of the standard normal distribution function."""
    from scipy.special import log_ndtr as function

    return function(x)


def ndtri_exp(y: float) -> float:
    """The normal quantile of e^y, accurate for very negative y."""
    from scipy.special import ndtri_exp as function

    return float(function(y))


def minimize_on_interval(
    function: Callable[[float], float], low: float, high: float, *, tolerance: float = 1e-5
) -> float:
    """Where a function of one variable is smallest between two numbers; Brent's method.

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
