"""Special functions of SciPy, imported on first use: the import takes a fifth of a second."""

from __future__ import annotations

from typing import Any

__all__ = [
    "binomial_above",
    "binomial_masses",
    "binomial_up_to",
    "erfcx",
    "log_ndtr",
    "ndtr",
    "ndtri_exp",
]


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


def ndtr(x: Any) -> Any:
    """The standard normal distribution function."""
    from scipy.special import ndtr as function

    return function(x)
