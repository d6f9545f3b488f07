"""The normal distribution: special functions, closed forms for N(mu, 1) against N(0, 1).

Special functions are imported from SciPy on first use: the import takes a fifth of a second.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hockeystick._numerics.divergence import ROUNDING
from hockeystick._numerics.law import FloatArray, Law

__all__ = [
    "LARGE_MU",
    "MU_ROUNDING",
    "argument_error",
    "binomial_above",
    "binomial_masses",
    "binomial_up_to",
    "erfcx",
    "formula_error",
    "gaussian_cells",
    "gaussian_delta",
    "log_ndtr",
    "log_normal_cells",
    "mu_at_corners",
    "ndtr",
    "ndtri_exp",
    "normal_quantile",
    "quantile_of_tail",
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


# Below this mu a closed form would lose digits; ten nodes are exact to rounding for the integral.
SMALL_MU, LARGEST_ARGUMENT = 0.5, 36.0
# From this mu on Phi(a) alone is the closed form, see `gaussian_delta`.
LARGE_MU = 1e6
LEGENDRE_NODES, LEGENDRE_WEIGHTS = np.polynomial.legendre.leggauss(10)

# The room given to the inverse of Phi; sums of masses get the usual allowance.
MU_ROUNDING = 1e-12


def gaussian_delta(mu: float, epsilon: float) -> float:
    """H = Phi(a) - e^epsilon Phi(a - mu) with a = mu/2 - epsilon/mu.

    [BalleWang18, Theorem 8]. In logs; for small mu, where the difference would cancel, as phi(a)
    times the integral of R' over [a - mu, a], R(t) = Phi(t)/phi(t), R'(t) = 1 + t R(t).

    For large mu it is Phi(a): the second term is the share R(a - mu)/R(a) of the first, which is
    below 5e-5 for every a > -40, and would be lost in the rounding of epsilon.
    """
    a = mu / 2 - epsilon / mu
    if mu >= LARGE_MU:
        return math.exp(float(log_ndtr(a)))
    if mu < SMALL_MU and abs(a) < LARGEST_ARGUMENT:
        t = a - mu / 2 + mu / 2 * LEGENDRE_NODES
        mills = math.sqrt(math.pi / 2) * erfcx(-t / math.sqrt(2))
        density = math.exp(-(a**2) / 2) / math.sqrt(2 * math.pi)
        return density * mu / 2 * float(LEGENDRE_WEIGHTS @ (1 + t * mills))
    first = float(log_ndtr(a))
    if math.exp(first) == 0.0:
        return 0.0
    second = epsilon + float(log_ndtr(a - mu))
    return -math.exp(first) * math.expm1(min(second - first, 0.0))


def formula_error(mu: float) -> float:
    """Relative error of `gaussian_delta` in floating point, beside that of its argument."""
    return 1e-10 + 1e-15 * min(mu, LARGE_MU) ** 2


def argument_error(mu: float) -> float:
    """By how much of itself epsilon is off in `gaussian_delta`, for large mu.

    There a is a difference of two large numbers: what is lost in it is a few units in the last
    place of epsilon, but may be many standard deviations.
    """
    return 0.0 if mu < LARGE_MU else 1e-14


def gaussian_cells(mu: float, edges: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Logs of the P- and Q-mass of the cells (-inf, e_0), [e_0, e_1), ..., [e_last, inf)."""
    return log_normal_cells(edges - mu), log_normal_cells(edges)


def log_normal_cells(edges: FloatArray) -> FloatArray:
    """Log of the standard normal mass of each cell, from whichever tail is the smaller one.

    Cells so far out that their ends cannot be told apart hold nothing.
    """
    low = np.concatenate(([-np.inf], edges))
    high = np.concatenate((edges, [np.inf]))
    flip = low > 0
    big = log_ndtr(np.where(flip, -low, high))
    small = log_ndtr(np.where(flip, -high, low))
    with np.errstate(divide="ignore", invalid="ignore"):
        cells: FloatArray = big + np.log(-np.expm1(small - big))
    return np.where(np.isnan(cells), -np.inf, cells)


def quantile_of_tail(tail: float) -> float:
    """z with Phi(-z) = tail."""
    return -float(ndtri_exp(math.log(tail)))


def normal_quantile(probability: Any) -> Any:
    """The inverse of Phi."""
    from scipy.special import ndtri

    return ndtri(probability)


def mu_at_corners(law: Law, *, slack: float = 0.0) -> float:
    """The smallest mu with G_mu - slack <= f, for the polygon f of a law; rounded up.

    G_mu is convex and f linear between corners, so only corners matter: mu is the largest of
    Phi^-1(1 - alpha) - Phi^-1(beta + slack). Infinite if a corner lies on an axis, apart from
    (0, 1) and (1, 0). Every tail is summed from its own small end.
    """
    room = 1 + ROUNDING
    alpha = np.concatenate(([0.0], np.cumsum(law.q[::-1]))) / room
    rest = np.concatenate((np.cumsum(law.q)[::-1], [0.0])) + law.q_zero
    beta = np.concatenate((np.cumsum(law.p)[::-1], [0.0])) / room + slack
    power = (np.concatenate(([0.0], np.cumsum(law.p[::-1]))) + law.p_infinite) * room - slack
    z_alpha = np.where(alpha < 0.5, -_quantile(alpha), _quantile(rest * room))
    z_beta = np.where(beta < 0.5, _quantile(beta), -_quantile(power))
    # At (0, 1) and at (1, 0) every G_mu fits.
    free = (power <= 0) | (rest <= 0)
    with np.errstate(invalid="ignore"):
        needed = np.where(free, 0.0, z_alpha - z_beta)
    largest = float(np.max(needed, initial=0.0))
    return math.inf if math.isnan(largest) else largest * (1 + MU_ROUNDING)


def _quantile(probability: FloatArray) -> FloatArray:
    """The inverse of Phi for numbers that rounding or slack may have moved out of [0, 1]."""
    quantile: FloatArray = normal_quantile(np.clip(probability, 0.0, 1.0))
    return quantile
