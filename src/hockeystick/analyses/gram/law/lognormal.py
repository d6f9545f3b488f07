"""Hockey-stick divergences of a law of sums times an independent lognormal factor of mean 1."""

from __future__ import annotations

import math

import numpy as np

from hockeystick._numerics.gaussian import LARGEST_ARGUMENT, LEGENDRE_NODES, LEGENDRE_WEIGHTS
from hockeystick._numerics.gaussian import SMALL_MU as SMALL
from hockeystick._numerics.law import FloatArray
from hockeystick._numerics.special import erfcx, log_ndtr

__all__ = ["add_delta", "remove_delta"]


def remove_delta(s: FloatArray, q: FloatArray, *, common: float, epsilon: float) -> float:
    """sum q E(s e^(N - common/2) - e^epsilon)+ with N ~ N(0, common)."""
    s, q = s[s > 0], q[s > 0]
    if common <= 0:
        return float((q * s) @ -np.expm1(np.minimum(epsilon - np.log(s), 0.0)))
    return float((q * s) @ _gaussian_deltas(math.sqrt(common), epsilon - np.log(s)))


def add_delta(s: FloatArray, q: FloatArray, *, common: float, epsilon: float) -> float:
    """sum q E(1 - e^epsilon s e^(N - common/2))+ with N ~ N(0, common)."""
    positive = s > 0
    loss = epsilon + np.log(s[positive])
    if common > 0:
        deltas = _gaussian_deltas(math.sqrt(common), loss)
    else:
        deltas = -np.expm1(np.minimum(loss, 0.0))
    return float(q[positive] @ deltas) + float(q[~positive].sum())


def _gaussian_deltas(mu: float, epsilon: FloatArray) -> FloatArray:
    """`gaussian_delta` at many epsilons."""
    a = mu / 2 - epsilon / mu
    first = log_ndtr(a)
    second = epsilon + log_ndtr(a - mu)
    result: FloatArray = -np.exp(first) * np.expm1(np.minimum(second - first, 0.0))
    if mu < SMALL:
        near = np.abs(a) < LARGEST_ARGUMENT
        t = a[near, None] - mu / 2 + mu / 2 * LEGENDRE_NODES
        mills = math.sqrt(math.pi / 2) * erfcx(-t / math.sqrt(2))
        density = np.exp(-(a[near] ** 2) / 2) / math.sqrt(2 * math.pi)
        result[near] = density * mu / 2 * ((1 + t * mills) @ LEGENDRE_WEIGHTS)
    return result
