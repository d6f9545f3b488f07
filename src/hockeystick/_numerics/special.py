"""Functions of SciPy, imported on first use: the import takes a fifth of a second."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = [
    "binomial_above",
    "binomial_masses",
    "binomial_outside",
    "erfcx",
    "log_ndtr",
    "minimize_on_interval",
    "ndtri_exp",
]


def binomial_above(count: Any, trials: Any) -> Any:
    """Pr[X > count] of fair coins, for arrays."""
    from scipy.stats import binom

    return binom.sf(count, trials, 0.5)


def binomial_outside(low: int, high: int, trials: int, chance: float) -> float:
    """Pr[X < low or X > high]."""
    from scipy.stats import binom

    return float(binom.cdf(low - 1, trials, chance) + binom.sf(high, trials, chance))


def binomial_masses(count: Any, trials: int, chance: float) -> Any:
    """Pr[X = count] for an array of counts."""
    from scipy.stats import binom

    return binom.pmf(count, trials, chance)


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
    """Where a function of one variable is smallest between two numbers; Brent's method."""
    from scipy.optimize import minimize_scalar

    found = minimize_scalar(
        function, bounds=(low, high), method="bounded", options={"xatol": tolerance}
    )
    return float(found.x)
