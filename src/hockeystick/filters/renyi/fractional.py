"""Moments of the sampled Gaussian at orders between integers, as bounds from a grid.

With u = LR - 1, which has mean 0 under Q, and psi(u) = (1 + u)^a - 1 - a u >= 0,

    E_Q[LR^a] = 1 + E_Q[psi(u)].

psi is convex, so in each cell of a grid in the observation it lies below its chord in u, and the
expectation of the chord follows from the P- and Q-mass of the cell. Subtracting the tangent first
keeps the relative accuracy of log E_Q[LR^a] where that is tiny.
"""

from __future__ import annotations

import math

import numpy as np

from hockeystick._numerics.gaussian import gaussian_cells
from hockeystick._numerics.law import FloatArray

__all__ = ["LARGEST_FRACTIONAL", "log_moment_bound"]

# Above this order the chord between integers is good enough.
LARGEST_FRACTIONAL = 10.0
# The grid: how far beyond the means it reaches, its step there, and in units of the exponent.
REACH, STEP, STEP_OF_EXPONENT = 20.0, 0.01, 0.04
MOST_CELLS = 100_000
# log P(Z > REACH) for a standard normal Z: e^(-x^2/2) / (x sqrt(2 pi)) is a bound.
LOG_TAIL = -(REACH**2) / 2 - math.log(REACH * math.sqrt(2 * math.pi))
# Below this |u| psi is taken from its series; its next term is below 1e-10 of it.
SMALL = 1e-4
# Above the first exponent e^z - 1 is e^z up to rounding; above the second psi needs logarithms.
LARGE, HUGE = 40.0, 700.0
# Masses of cells are known to this in their logarithms.
LOG_MASS = 1e-12


def log_moment_bound(order: float, rate: float, mu: float) -> float:
    """An upper bound on log E_Q[LR^order], a few 1e-5 above it; infinite where the grid ends.

    For orders up to 10 and rates below 1. Cost: some thousand cells.
    """
    end = order * mu + REACH
    step = min(STEP, STEP_OF_EXPONENT / max(order * mu, 1e-300))
    # No division: the step of an infinite mu is 0.
    if not (mu > 0 and end + REACH <= MOST_CELLS * step):
        return math.inf
    edges = np.linspace(-REACH, end, math.ceil((end + REACH) / step) + 1)
    exponents = mu * (edges - mu / 2)
    log_p, log_q = (part[1:-1] for part in gaussian_cells(mu, edges))
    log_psi = _log_psi(order, rate, exponents)
    width = np.diff(exponents)
    with np.errstate(divide="ignore", invalid="ignore"):
        # Where in the cell the barycentre of LR lies, moved towards the larger end of psi.
        share = np.expm1(log_p - log_q - exponents[:-1]) / np.expm1(width)
        slack = np.where(log_psi[1:] > log_psi[:-1], 1.0, -1.0) * (LOG_MASS / width + 1e-9)
        share = np.clip(share + slack, 0.0, 1.0)
        chord = np.logaddexp(log_psi[:-1] + np.log1p(-share), log_psi[1:] + np.log(share))
        terms = np.where(log_q > -np.inf, chord + log_q, -np.inf)
    tails = (_log_left_tail(order, rate), order * (order - 1) * mu**2 / 2 + LOG_TAIL)
    every = np.append(terms, tails)
    top = float(every.max())
    excess = top + math.log(float(np.exp(every - top).sum()))
    return excess + math.log1p(math.exp(-excess)) if excess > 0 else math.log1p(math.exp(excess))


def _log_left_tail(order: float, rate: float) -> float:
    """Left of the grid psi is at most psi(-rate), which is at most order * rate."""
    return math.log(order * rate) + LOG_TAIL


def _log_psi(order: float, rate: float, exponents: FloatArray) -> FloatArray:
    """log psi at u = rate (e^z - 1), rounded up where psi is huge: there its -1 is left out."""
    grown = math.log(rate) + exponents
    small = np.minimum(exponents, LARGE)
    u = np.where(exponents < LARGE, rate * np.expm1(small), np.exp(np.minimum(grown, HUGE)))
    log_ratio = np.where(grown < HUGE, np.log1p(u), grown)
    power = order * log_ratio
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        series = 1 + (order - 2) * u / 3 + (order - 2) * (order - 3) * u**2 / 12
        near = order * (order - 1) / 2 * u**2 * series
        direct = np.expm1(np.minimum(power, HUGE)) - order * u
        psi = np.where(np.abs(u) < SMALL, near, np.maximum(direct, 0.0))
        huge = power + np.log1p(-np.exp(np.minimum(math.log(order) + grown - power, 0.0)))
        return np.where(power < HUGE, np.log(psi), huge)
