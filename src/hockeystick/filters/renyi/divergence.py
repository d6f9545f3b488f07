"""Renyi divergences at one order, rounded up, and what they imply as (epsilon, delta).

Of the Poisson-sampled Gaussian, for an integer order m and P = (1 - q) N(0, 1) + q N(mu, 1),
Q = N(0, 1),

    E_Q[LR^m] = 1 + sum_(j=2..m) C(m, j) q^j (1 - q)^(m-j) (e^(j (j-1) mu^2 / 2) - 1),

by the binomial theorem; all terms are positive. Between integers log E_Q[LR^a] is convex in a, so
the chord is a bound. Below order 10 a bound from a grid is closer: with u = LR - 1, which has mean
0 under Q, and psi(u) = (1 + u)^a - 1 - a u >= 0, E_Q[LR^a] = 1 + E_Q[psi(u)]. psi is convex, so in
each cell of a grid in the observation it lies below its chord in u, and the expectation of the
chord follows from the P- and Q-mass of the cell. Subtracting the tangent first keeps the relative
accuracy of log E_Q[LR^a] where that is tiny.

The divergence of Q from P is never larger [MironovTalwarZhang19, Theorem 5]: reflection at mu/2
exchanges the two Gaussians. So one direction bounds both.

A divergence D at the order a, in both directions, implies (epsilon, delta)-DP with

    epsilon = D - (log delta + a log a) / (a - 1) + log(a - 1)

[CanonneKamathSteinke20, Proposition 12]. Any order is valid; only tightness depends on the choice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

import numpy as np

from hockeystick._numerics.envelope import law_of_deltas
from hockeystick._numerics.gaussian import gaussian_cells
from hockeystick._numerics.law import FloatArray
from hockeystick.bounds import Bound, UpperBound
from hockeystick.errors import UnsupportedPlan
from hockeystick.fdp.schedule import EqualSteps
from hockeystick.profile import Profile
from hockeystick.profile.expressions import Expression
from hockeystick.profile.expressions.discrete import Atoms
from hockeystick.profile.expressions.sampled import Subsampled
from hockeystick.profile.resolution import Direction

__all__ = [
    "LARGEST_ORDER",
    "OneOrder",
    "budget_at_order",
    "divergence_of_profile",
    "divergence_of_schedule",
    "epsilon_at_order",
    "log_delta_at_order",
    "order_of_smallest",
    "sampled_divergences",
]

# Binomial coefficients up to this order lose less than 1e-11 in their logarithm.
LARGEST_ORDER = 1024
# What that is relative to the divergence, with room for the other operations: 1.2e-10.
ROUNDING = 2.0**-33
# Above this order the chord between integers is within 2 % of the divergence.
LARGEST_FRACTIONAL = 10.0
# How many standard deviations beyond the means the grid reaches; the 1e-88 outside are added.
REACH = 20.0
# log P(Z > REACH) for a standard normal Z: e^(-x^2/2) / (x sqrt(2 pi)) is a bound.
LOG_TAIL = -(REACH**2) / 2 - math.log(REACH * math.sqrt(2 * math.pi))
# Its step, and the step in units of 1/(order mu): the error of a chord is of second order, a few
# 1e-5 at these.
STEP, STEP_OF_EXPONENT = 0.01, 0.04
# A grid of more cells takes hundredths of a second; the chord between integers is used instead.
MOST_CELLS = 100_000
# Below this |u| psi is taken from its series; its next term is below 1e-10 of it.
SMALL = 1e-4
# Above the first exponent e^z - 1 is e^z up to rounding; above the second e^z may overflow.
LARGE, HUGE = 40.0, 700.0
# Masses of cells are known to this in their logarithms.
LOG_MASS = 1e-12
# What the conversion loses, relative to its largest term: 64 roundings of 2^-53.
CONVERSION_ROUNDING = 2.0**-47
# The profile made of the bounds ends where delta is this, far below any in use; with so
# many corners on either side epsilon is within 1e-3 of the bound.
SMALLEST_DELTA, CORNERS = 1e-30, 400
# Orders that are tried first: integers, then steps of about 1.5 %; 1.5 stands for what lies below
# 2. The best of them allows within 0.1 % of the steps that the best order does.
COARSE: tuple[float, ...] = (
    1.5,
    *(float(order) for order in range(2, 64)),
    *sorted({float(round(64 * 1.015**k)) for k in range(187)}),
)


def sampled_divergences(order: float, rate: float, squares: FloatArray) -> FloatArray:
    """Upper bounds on the Renyi divergence, valid in both directions, for an array of mu^2.

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
            sharper = [_log_moment_bound(order, rate, math.sqrt(square)) for square in squares]
            value = np.minimum(value, sharper)
    result: FloatArray = value / (order - 1) * (1 + ROUNDING)
    return result


def divergence_of_schedule(order: float, schedule: Iterable[EqualSteps]) -> float:
    """The sum over the steps of a schedule of sampled Gaussians: divergences add up."""
    by_rate: dict[float, list[EqualSteps]] = {}
    for part in schedule:
        by_rate.setdefault(part.rate, []).append(part)
    total = 0.0
    for rate, group in by_rate.items():
        # Infinite, rather than an error, where it overflows.
        squares = np.array(
            [(1 / part.noise_multiplier) * (1 / part.noise_multiplier) for part in group]
        )
        total += float(sampled_divergences(order, rate, squares) @ [part.steps for part in group])
    return total


def divergence_of_profile(order: float, profile: Profile) -> float:
    """An upper bound in both directions, part by part: divergences of compositions add up.

    Refused where a part has no finite divergence that is known, in one direction or the other.
    """
    parts = profile.expression.sampled().factors()
    total = math.fsum(count * _of_part(order, part.sampled()) for part, count in parts)
    if not math.isfinite(total):
        raise UnsupportedPlan(
            f"The profile has no finite Renyi divergence of order {order:g} that is known in both "
            "directions; Gaussians, Laplace noise, discrete pairs, Poisson-sampled Gaussians and "
            "their compositions have one.",
            page="docs/adaptive.md#which-filter",
        )
    return total * (1 + ROUNDING)


def _of_part(order: float, part: Expression) -> float:
    """Sampled Gaussians by their own formula: the law of their other direction is cut."""
    if type(part) is Subsampled and part.child.family == "gaussian":
        return float(sampled_divergences(order, part.rate, np.array([part.child.order() ** 2]))[0])
    both = Profile(part), Profile(part).reverse()
    return max(float(one.renyi(order)) for one in both)


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


def _log_moment_bound(order: float, rate: float, mu: float) -> float:
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
    # Left of the grid psi is at most psi(-rate), which is at most order * rate.
    tails = math.log(order * rate) + LOG_TAIL, order * (order - 1) * mu**2 / 2 + LOG_TAIL
    every = np.append(terms, tails)
    top = float(every.max())
    excess = top + math.log(float(np.exp(every - top).sum()))
    return excess + math.log1p(math.exp(-excess)) if excess > 0 else math.log1p(math.exp(excess))


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


def budget_at_order(order: float, epsilon: float, delta: float) -> float:
    """The largest divergence at this order that implies (epsilon, delta)-DP, rounded down.

    The conversion solved for the divergence. Not positive if no divergence implies it.
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


class OneOrder(Bound):
    """Upper bounds from one divergence at one order."""

    def __init__(self, order: float, divergence: float) -> None:
        self._order, self._divergence = order, divergence

    def epsilon(
        self, delta: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """The same in both directions."""
        return UpperBound(epsilon_at_order(self._order, self._divergence, delta))

    def delta(
        self, epsilon: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """The same in both directions."""
        return UpperBound(self._delta(epsilon))

    def as_profile(self) -> Profile:
        """The pair with the largest convex profile below the bounds at many epsilons."""
        end = epsilon_at_order(self._order, self._divergence, SMALLEST_DELTA)
        loss = np.linspace(0.0, max(end, 1e-3), CORNERS)
        delta = np.array([self._delta(epsilon) for epsilon in loss])
        both = np.concatenate((-loss[:0:-1], loss)), np.concatenate((delta[:0:-1], delta))
        return Profile(Atoms(law_of_deltas(*both)))

    def _delta(self, epsilon: float) -> float:
        log_delta = log_delta_at_order(self._order, self._divergence, epsilon)
        return min(math.exp(log_delta) * (1 + 1e-15), 1.0)


def order_of_smallest(cost: Callable[[float], float]) -> float:
    """The order at which a cost is smallest: the best coarse one, refined to tenths below 10.

    Any order is valid; only tightness depends on the search.
    """
    best = min(COARSE, key=cost)
    tenths = [round(best + tenth / 10, 1) for tenth in range(-9, 10)]
    return min([best, *(a for a in tenths if 1 < a < LARGEST_FRACTIONAL)], key=cost)
