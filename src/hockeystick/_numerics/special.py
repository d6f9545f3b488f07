"""Functions of SciPy, imported on first use: the import takes a fifth of a second."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["erfcx", "log_ndtr", "minimize_on_interval", "ndtri_exp"]


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

    options = {"xatol": tolerance}
    found = minimize_scalar(function, bounds=(low, high), method="bounded", options=options)
    return float(found.x)
