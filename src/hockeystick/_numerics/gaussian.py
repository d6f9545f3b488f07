"""Closed forms for the pair N(mu, 1) against N(0, 1)."""

from __future__ import annotations

import math

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick._numerics.special import erfcx, log_ndtr, ndtri_exp

__all__ = ["gaussian_cells", "gaussian_delta", "log_normal_cells", "quantile_of_tail"]

# Below this mu a closed form would lose digits; ten nodes are exact to rounding for the integral.
SMALL_MU, LARGEST_ARGUMENT = 0.5, 36.0
LEGENDRE_NODES, LEGENDRE_WEIGHTS = np.polynomial.legendre.leggauss(10)


def gaussian_delta(mu: float, epsilon: float) -> float:
    """H = Phi(a) - e^epsilon Phi(a - mu) with a = mu/2 - epsilon/mu.

    Balle & Wang 2018, Theorem 8. In logs; for small mu, where the difference would cancel, as
    phi(a) times the integral of R' over [a - mu, a], R(t) = Phi(t)/phi(t), R'(t) = 1 + t R(t).
    """
    a = mu / 2 - epsilon / mu
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


def gaussian_cells(mu: float, edges: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Logs of the P- and Q-mass of the cells (-inf, e_0), [e_0, e_1), ..., [e_last, inf)."""
    return log_normal_cells(edges - mu), log_normal_cells(edges)


def log_normal_cells(edges: FloatArray) -> FloatArray:
    """Log of the standard normal mass of each cell, from whichever tail is the smaller one."""
    low = np.concatenate(([-np.inf], edges))
    high = np.concatenate((edges, [np.inf]))
    flip = low > 0
    big = log_ndtr(np.where(flip, -low, high))
    small = log_ndtr(np.where(flip, -high, low))
    cells: FloatArray = big + np.log(-np.expm1(small - big))
    return cells


def quantile_of_tail(tail: float) -> float:
    """z with Phi(-z) = tail."""
    return -float(ndtri_exp(math.log(tail)))
