"""How far the chance of taking part can rise while a block runs.

One step out of t is drawn; W_1, W_2, ... are the likelihood ratios of the steps. Seen from
outside, the chance that step i + 1 is the one, given the outputs so far, is 1/(t - S_i) with
S_i = sum_(j<=i) (1 - W_j). Without the example the W_j are independent with mean 1, so S is a
random walk with mean 0, whose steps are at most 1 however small the noise is. By Doob's inequality,
for every s > 0,

    Pr[max_i S_i >= g t] <= exp(-t (s g - psi(s))),   psi(s) = log E_Q[e^(s (1 - W))].

With the example one of the W_j is drawn under P, where it is stochastically larger, so S is
stochastically smaller. If P has mass where Q has none, the mean of W is less than 1 and S drifts
upwards; psi includes the drift and e^(s S) is still a submartingale, as Doob's inequality needs.
"""

from __future__ import annotations

import math

import numpy as np

from hockeystick._numerics.law import FloatArray, Law
from hockeystick._numerics.search import minimize_on_interval

__all__ = ["excess_at_failure"]

# The search for s, in logs; any s gives a valid bound, and e^s must not overflow.
SMALLEST_LOG, LARGEST_LOG = -20.0, 6.0
ROUNDING = 1e-9


def excess_at_failure(law: Law, steps: int, log_failure: float) -> float:
    """The g for which Pr[max S >= g t] is at most e^log_failure, from an upper law of W."""
    budget = -log_failure / steps

    def excess(log_s: float) -> float:
        s = math.exp(log_s)
        return (_cumulant(law, s) * (1 + ROUNDING) + budget) / s

    return excess(minimize_on_interval(excess, SMALLEST_LOG, LARGEST_LOG))


def _cumulant(law: Law, s: float) -> float:
    """psi(s) = log(1 + E[e^x - 1 - x] + E[x]) with x = s (1 - W), as positive terms.

    e^x is convex in W, so the upper law gives an upper bound. E[x] is s times the P-mass at
    infinity.
    """
    with np.errstate(over="ignore"):
        x = -s * np.expm1(law.loss)
    spread = float(_convex_part(x, law, s).sum()) + law.q_zero * (math.expm1(s) - s)
    return math.log1p(spread + s * law.p_infinite)


def _convex_part(x: FloatArray, law: Law, s: float) -> FloatArray:
    """q (e^x - 1 - x) for each atom. -q x = s (p - q) stays finite where W does not."""
    small = np.abs(x) < 1e-4
    inside = np.where(small, x, 0.0)
    series = law.q * inside * inside / 2 * (1 + inside / 3 * (1 + inside / 4))
    direct = law.q * np.expm1(x) + s * (law.p - law.q)
    terms: FloatArray = np.where(small, series, direct)
    return terms
