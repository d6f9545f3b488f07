"""The mean of closed forms for N(mu, 1) against N(0, 1) over a law of mu."""

from __future__ import annotations

import math

import numpy as np

from hockeystick._numerics.gaussian import (
    LARGE_MU,
    LARGEST_ARGUMENT,
    LEGENDRE_NODES,
    LEGENDRE_WEIGHTS,
    SMALL_MU,
)
from hockeystick._numerics.law import FloatArray
from hockeystick._numerics.special import erfcx, log_ndtr

__all__ = ["mean_gaussian_delta"]


def mean_gaussian_delta(mu: FloatArray, weights: FloatArray, epsilon: float) -> float:
    """The sum of weights times `gaussian_delta`, which says what is computed for each mu."""
    a = mu / 2 - epsilon / mu
    near = (mu < SMALL_MU) & (np.abs(a) < LARGEST_ARGUMENT)
    delta = np.empty(mu.size)
    delta[near] = _by_integral(mu[near], a[near])
    large = mu >= LARGE_MU
    delta[large] = np.exp(log_ndtr(a[large]))
    far = ~near & ~large
    delta[far] = _by_difference(mu[far], a[far], epsilon)
    return math.fsum(weights * delta)


def _by_integral(mu: FloatArray, a: FloatArray) -> FloatArray:
    t = (a - mu / 2)[:, None] + (mu / 2)[:, None] * LEGENDRE_NODES
    mills = math.sqrt(math.pi / 2) * erfcx(-t / math.sqrt(2))
    density = np.exp(-(a**2) / 2) / math.sqrt(2 * math.pi)
    found: FloatArray = density * mu / 2 * ((1 + t * mills) @ LEGENDRE_WEIGHTS)
    return found


def _by_difference(mu: FloatArray, a: FloatArray, epsilon: float) -> FloatArray:
    first = log_ndtr(a)
    second = epsilon + log_ndtr(a - mu)
    with np.errstate(invalid="ignore"):
        found = -np.exp(first) * np.expm1(np.minimum(second - first, 0.0))
    return np.where(np.exp(first) > 0, found, 0.0)
