"""Closed forms for the pair N(mu, 1) against N(0, 1)."""

from __future__ import annotations

import math

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick._numerics.special import log_ndtr, ndtri_exp

__all__ = ["gaussian_cells", "gaussian_delta", "quantile_of_tail"]


def gaussian_delta(mu: float, epsilon: float) -> float:
    """H = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu), in logs.

    Balle & Wang 2018, Theorem 8.
    """
    first = float(log_ndtr(mu / 2 - epsilon / mu))
    second = epsilon + float(log_ndtr(-mu / 2 - epsilon / mu))
    return -math.exp(first) * math.expm1(min(second - first, 0.0))


def gaussian_cells(mu: float, edges: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Logs of the P- and Q-mass of the cells (-inf, e_0), [e_0, e_1), ..., [e_last, inf)."""
    return _log_normal_cells(edges - mu), _log_normal_cells(edges)


def _log_normal_cells(edges: FloatArray) -> FloatArray:
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
