"""Gaussian pairs by closed forms in fifty digits and by plain quadrature.

The observation z is standard normal under Q, and LR = exp(mu z - mu^2/2). The last variable of a
composition is integrated in closed form (a call or put on a lognormal variable); what is left is
smooth and falls off like a Gaussian, where the trapezoidal rule converges faster than any power.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import log_ndtr, ndtr

from references.outcomes import exact, number

__all__ = [
    "allocation_of_three",
    "allocation_of_two",
    "gaussian_delta",
    "gaussian_tradeoff",
    "poisson_once",
    "poisson_twice",
]

Array = Any


def gaussian_delta(mu: float, epsilon: float) -> Any:
    """Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu), in fifty digits."""
    mu, epsilon = number(mu), number(epsilon)
    tail = exact.exp(epsilon) * exact.ncdf(-mu / 2 - epsilon / mu)
    return exact.ncdf(mu / 2 - epsilon / mu) - tail


def gaussian_tradeoff(mu: float, alpha: float) -> float:
    """G_mu(alpha) = Phi(Phi^-1(1 - alpha) - mu)."""
    from scipy.stats import norm

    return float(norm.cdf(norm.isf(alpha) - mu))


def poisson_once(mu: float, rate: float, epsilon: float, *, reverse: bool) -> float:
    """One Poisson-sampled step, by quadrature of the positive part itself."""
    z = np.linspace(-14.0, mu + 14.0, 400_001)
    likelihood = 1 - rate + rate * np.exp(mu * z - mu**2 / 2)
    return _integral(z, _payoff(likelihood, math.exp(epsilon), reverse=reverse))


def poisson_twice(mu: float, rate: float, epsilon: float, *, reverse: bool) -> float:
    """Two Poisson-sampled steps: the first by quadrature, the second in closed form."""
    z = np.linspace(-14.0, mu + 14.0, 20_001)
    first = 1 - rate + rate * np.exp(mu * z - mu**2 / 2)
    gamma = math.exp(epsilon)
    if reverse:
        # (1 - gamma first (1 - rate + rate LR))+ = gamma first rate (strike - LR)+
        strike = (1 / (gamma * first) - 1 + rate) / rate
        return _integral(z, gamma * first * rate * _put(mu, strike))
    strike = (gamma / first - 1 + rate) / rate
    return _integral(z, first * rate * _call(mu, strike))


def allocation_of_two(mu: float, epsilon: float, *, reverse: bool) -> float:
    """LR = (L1 + L2)/2."""
    z = np.linspace(-14.0, mu + 14.0, 20_001)
    known = np.exp(mu * z - mu**2 / 2)
    return _integral(z, _average_payoff(mu, known, 2, epsilon, reverse=reverse))


def allocation_of_three(mu: float, epsilon: float, *, reverse: bool) -> float:
    """LR = (L1 + L2 + L3)/3, two of them on a square grid."""
    z = np.linspace(-10.0, mu + 10.0, 601)
    weight = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi) * (z[1] - z[0])
    likelihood = np.exp(mu * z - mu**2 / 2)
    known = likelihood[:, None] + likelihood[None, :]
    payoff = _average_payoff(mu, known, 3, epsilon, reverse=reverse)
    return float(weight @ payoff @ weight)


def _average_payoff(
    mu: float, known: Array, copies: int, epsilon: float, *, reverse: bool
) -> Array:
    """Expectation over the last copy, given the sum of the others."""
    gamma = math.exp(epsilon)
    if reverse:
        return gamma / copies * _put(mu, copies / gamma - known)
    return _call(mu, copies * gamma - known) / copies


def _payoff(likelihood: Array, gamma: float, *, reverse: bool) -> Array:
    return np.maximum(1 - gamma * likelihood if reverse else likelihood - gamma, 0.0)


def _integral(z: Array, values: Array) -> float:
    return float(np.sum(values * np.exp(-(z**2) / 2)) / math.sqrt(2 * math.pi) * (z[1] - z[0]))


def _call(mu: float, strike: Array) -> Array:
    """E(L - strike)+ with L = exp(mu z - mu^2/2); without the cancellation of the usual formula."""
    with np.errstate(divide="ignore", invalid="ignore"):
        d = (np.log(strike) + mu**2 / 2) / mu
        first = log_ndtr(mu - d)
        value = -np.exp(first) * np.expm1(np.log(strike) + log_ndtr(-d) - first)
    return np.where(strike > 0, value, 1 - strike)


def _put(mu: float, strike: Array) -> Array:
    """E(strike - L)+."""
    with np.errstate(divide="ignore", invalid="ignore"):
        d = (np.log(strike) + mu**2 / 2) / mu
        value = strike * ndtr(d) * -np.expm1(log_ndtr(d - mu) - np.log(strike) - log_ndtr(d))
    return np.where(strike > 0, value, 0.0)
