"""The Renyi divergence of the Poisson-sampled Gaussian at one order, rounded up.

For an integer order m and the pair P = (1 - q) N(0, 1) + q N(mu, 1), Q = N(0, 1),

    E_Q[LR^m] = 1 + sum_(j=2..m) C(m, j) q^j (1 - q)^(m-j) (e^(j (j-1) mu^2 / 2) - 1),

by the binomial theorem; all terms are positive. Between integers log E_Q[LR^a] is convex in a, so
the chord is a bound; below order 10 a bound from a grid is closer. The divergence of Q from P is
never larger (Mironov, Talwar & Zhang 2019, Theorem 5: reflection at mu/2 exchanges the two
Gaussians), so one direction prices both.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick.filters.renyi.fractional import LARGEST_FRACTIONAL, log_moment_bound

__all__ = [
    "LARGEST_ORDER",
    "ROUNDING",
    "budget_at_order",
    "epsilon_at_order",
    "log_delta_at_order",
    "prices",
]

# Binomial coefficients up to this order lose less than 1e-11 in their logarithm.
LARGEST_ORDER = 1024
ROUNDING = 2.0**-33
# What the conversion loses, relative to its largest term.
CONVERSION_ROUNDING = 2.0**-47


def prices(order: float, rate: float, squares: FloatArray) -> FloatArray:
    """Upper bounds on the Renyi divergence, both directions, for an array of mu^2.

    Cost: O(order) for each entry, and a millisecond for each where the order is fractional and
    below 10. The divergence is convex in mu^2, and 0 at 0.
    """
    if rate == 1.0:
        return order * squares / 2 * (1 + ROUNDING)
    below, above = math.floor(order), math.ceil(order)
    value = _log_moments(above, rate, squares)
    if above > below:
        start = _log_moments(below, rate, squares)
        # Written as a mean of the two: for an infinite end the chord is infinite.
        value = (above - order) * start + (order - below) * value
        if order < LARGEST_FRACTIONAL:
            sharper = [log_moment_bound(order, rate, math.sqrt(square)) for square in squares]
            value = np.minimum(value, sharper)
    result: FloatArray = value / (order - 1) * (1 + ROUNDING)
    return result


def budget_at_order(order: float, epsilon: float, delta: float) -> float:
    """The largest divergence at this order that implies (epsilon, delta)-DP, rounded down.

    epsilon + (log delta + a log a) / (a - 1) - log(a - 1): the conversion of Canonne, Kamath &
    Steinke 2020, Proposition 12, solved for the divergence. Not positive if no divergence does.
    """
    gain, size = _conversion(order, math.log(delta))
    return epsilon + gain - CONVERSION_ROUNDING * (size + epsilon)


def epsilon_at_order(order: float, divergence: float, delta: float) -> float:
    """The epsilon that this divergence implies at delta, rounded up; at least 0."""
    gain, size = _conversion(order, math.log(delta))
    return max(divergence - gain + CONVERSION_ROUNDING / 2 * (size + divergence), 0.0)


def log_delta_at_order(order: float, divergence: float, epsilon: float) -> float:
    """The logarithm of the delta that this divergence implies at epsilon, rounded up."""
    gain, size = _conversion(order, 0.0)
    slack = CONVERSION_ROUNDING / 2 * (size + divergence + epsilon)
    return min((order - 1) * (divergence - epsilon - gain + slack), 0.0)


def _conversion(order: float, log_delta: float) -> tuple[float, float]:
    """The difference of budget and epsilon, and the size of the terms that it is made of."""
    first = log_delta / (order - 1)
    second = order * math.log(order) / (order - 1)
    third = math.log(order - 1)
    return first + second - third, abs(first) + second + abs(third)


def _log_moments(order: int, rate: float, squares: FloatArray) -> FloatArray:
    """log E_Q[LR^order] at each mu^2; zero for order 1."""
    if order == 1:
        return np.zeros_like(squares)
    weights, pairs = _binomial(order, rate)
    exponents = np.multiply.outer(squares, pairs)
    with np.errstate(divide="ignore", over="ignore"):
        # log(e^x - 1), without overflow for large x and without cancellation for small x.
        grown = np.where(
            exponents > 1, exponents + np.log1p(-np.exp(-exponents)), np.log(np.expm1(exponents))
        )
        terms = grown + weights
        top = terms.max(axis=-1)
        scale = np.where(np.isfinite(top), top, 0.0)
        excess = np.log(np.exp(terms - scale[..., np.newaxis]).sum(axis=-1)) + scale
        # log(1 + e^x): nothing is lost where x is very negative.
        result: FloatArray = np.where(excess < 0, np.log1p(np.exp(excess)), excess)
        large = (excess >= 0) & (excess < np.inf)
    result[large] += np.log1p(np.exp(-excess[large]))
    return result


@lru_cache(maxsize=256)
def _binomial(order: int, rate: float) -> tuple[FloatArray, FloatArray]:
    """The logarithms of the binomial weights of j = 2 .. order, and j (j - 1) / 2."""
    from scipy.special import gammaln

    j = np.arange(2.0, order + 1)
    choices = gammaln(order + 1.0) - gammaln(j + 1) - gammaln(order - j + 1)
    weights = choices + j * math.log(rate) + (order - j) * math.log1p(-rate)
    return weights, j * (j - 1) / 2
