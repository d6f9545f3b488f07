"""Reading numbers off a law: hockey-stick divergence, trade-off function, and moments.

The moments of likelihood ratios, of which Renyi divergences are made, are logarithms that are
rounded up: log E_Q[LR^m] for m = 0, 1, ..., together with the P-mass where LR is infinite, which no
moment includes; and moments at real orders, from laws. Every function of them returns upper bounds
when it is given upper bounds: all terms are positive.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hockeystick._numerics.law import FloatArray, Law, Side

if TYPE_CHECKING:
    from types import ModuleType

__all__ = [
    "MomentNodes",
    "PowerMoments",
    "allocated_moments",
    "composed_moments",
    "composed_nodes",
    "delta_from_law",
    "epsilon_from_law",
    "guard",
    "mixed_moments",
    "moments_of_law",
    "nodes_of_law",
    "rounded_up",
    "subsampled_moments",
    "tradeoff_from_law",
]


# Floating-point rounding of the whole computation stays far below this relative amount; every
# answer is moved outwards by it, so that a bound stays a bound.
ROUNDING = 1e-8
# Over longer segments e^(epsilon - loss) is counted from their end.
NEAR = 30.0


def guard(value: float, side: Side) -> float:
    """The value moved outwards by the floating-point allowance."""
    return value * (1 + ROUNDING) if side is Side.UPPER else value * (1 - ROUNDING)


def delta_from_law(law: Law, epsilon: float) -> float:
    """H(P || Q) at e^epsilon: sum of p (1 - e^(epsilon - l)) over l > epsilon, plus P at infinity.

    All terms are positive, so tiny values are as accurate, relatively, as large ones.
    """
    first = int(np.searchsorted(law.loss, epsilon, side="right"))
    above = law.loss[first:]
    return law.p_infinite - float(law.p[first:] @ np.expm1(epsilon - above))


def epsilon_from_law(law: Law, delta: float) -> float:
    """The smallest epsilon >= 0 with H(P || Q) <= delta; infinite if none is.

    Between two atoms H is linear in e^epsilon, so the answer is a closed form once the pair of
    atoms is known.
    """
    if law.p_infinite > delta:
        return math.inf
    if delta_from_law(law, 0.0) <= delta:
        return 0.0
    # H at the atoms decreases with the loss; find the last one that is still above delta.
    first = int(np.searchsorted(law.loss, 0.0, side="right"))
    low, high = first - 1, law.loss.size - 1
    while high - low > 1:
        middle = (low + high) // 2
        if delta_from_law(law, law.loss[middle]) > delta:
            low = middle
        else:
            high = middle
    return _on_segment(law, high, max(float(law.loss[low]), 0.0) if low >= 0 else 0.0, delta)


def _on_segment(law: Law, high: int, start: float, delta: float) -> float:
    """Where H = delta between the loss `start` and the atom `high`, from the nearer end.

    With q the Q-mass above in units of that end, H falls from H(start) by q (e^(epsilon - start) -
    1), and grows towards smaller epsilon from H(end) by q (1 - e^(epsilon - end)): nothing cancels.
    """
    end = float(law.loss[high])
    from_start = end - start < NEAR
    origin = start if from_start else end
    q_above = float(law.p[high:] @ np.exp(origin - law.loss[high:]))
    gap = abs(delta_from_law(law, origin) - delta)
    if not q_above > 0:
        return end
    if from_start:
        return min(start + math.log1p(gap / q_above), end)
    return max(end + math.log1p(-min(gap / q_above, 1.0)), start) if gap < q_above else start


def tradeoff_from_law(law: Law, alpha: FloatArray) -> FloatArray:
    """Smallest type II error when testing Q (null) against P at type I error alpha.

    By [NeymanPearson33] the test rejects where the likelihood ratio is largest: beta is one minus
    the P-mass of the part with Q-mass alpha, linear between atoms.
    """
    q = np.concatenate(([0.0], np.cumsum(law.q[::-1])))
    # The P-mass that is left over, summed from its small end for relative accuracy of small beta.
    left = np.concatenate((np.cumsum(law.p)[::-1], [0.0]))
    # The first point with Q-mass alpha: far out, Q-masses may underflow to a plateau at zero.
    after = np.minimum(np.searchsorted(q, alpha, side="left"), q.size - 1)
    before = np.maximum(after - 1, 0)
    width = q[after] - q[before]
    share = np.where(width > 0, (alpha - q[before]) / np.where(width > 0, width, 1.0), 1.0)
    beta: FloatArray = left[before] + np.clip(share, 0.0, 1.0) * (left[after] - left[before])
    return np.where(after == 0, left[0], beta)


# What underflow may have taken from the mass of an atom.
LOST_MASS = 1e-320
# What one evaluation may lose to floating point, per order.
MOMENT_ROUNDING = 2.0**-50


class PowerMoments(NamedTuple):
    """log E_Q[LR^m] at index m, and the P-mass at infinity."""

    log: FloatArray
    apart: float = 0.0


class MomentNodes(NamedTuple):
    """log E_Q[LR^a] at increasing orders a >= 1 of one pair, and the P-mass at infinity.

    The logarithm is convex in a (Hoelder), so that chords between the nodes are upper bounds.
    """

    orders: FloatArray
    log: FloatArray
    apart: float = 0.0


def rounded_up(log: FloatArray) -> FloatArray:
    """The logs moved up by the floating-point allowance; E[LR^0] = 1 is exact."""
    size = np.where(np.isfinite(log), np.abs(log), 0.0)
    result: FloatArray = log + MOMENT_ROUNDING * (size + np.arange(log.size))
    result[0] = 0.0
    return result


def moments_of_law(law: Law, largest: int) -> PowerMoments:
    """Sums over the atoms, O(atoms) for each order.

    Above loss 0 a mass may have underflowed where large powers of its likelihood ratio still
    matter: what it may have lost is added. Below 0 the Q-mass is the one that is kept exactly.
    """
    log = np.append(0.0, _log_moments(law, np.arange(1.0, largest + 1)))
    return PowerMoments(rounded_up(log), law.p_infinite)


def nodes_of_law(law: Law, orders: FloatArray) -> MomentNodes:
    """The same at any orders from 1 on: x^a is convex, so an upper law bounds its moments."""
    log = _log_moments(law, orders)
    size = np.where(np.isfinite(log), np.abs(log), 0.0)
    return MomentNodes(orders, log + MOMENT_ROUNDING * (size + orders), law.p_infinite)


def composed_nodes(factors: list[tuple[MomentNodes, int]]) -> MomentNodes:
    """Moments of a product of independent powers, all at the same orders."""
    powers = [(PowerMoments(member.log, member.apart), count) for member, count in factors]
    return MomentNodes(factors[0][0].orders, *composed_moments(powers))


def _log_moments(law: Law, orders: FloatArray) -> FloatArray:
    """log of the sum over atoms, at each order."""
    above = law.loss > 0
    with np.errstate(divide="ignore"):
        log_p = np.log(np.where(above, law.p + LOST_MASS, law.q)) + np.minimum(law.loss, 0.0)
    log = np.zeros(orders.size)
    for i, order in enumerate(orders.tolist()):
        exponents = log_p + (order - 1) * law.loss
        top = exponents.max()
        # Orders above one need a likelihood ratio that takes finite positive values.
        log[i] = top + np.log(np.exp(exponents - top).sum()) if top > -np.inf else -np.inf
    return log


def allocated_moments(step: PowerMoments, steps: int) -> PowerMoments:
    """Moments of the average of `steps` independent copies, all orders in one pass.

    The sum of [FeldmanShenfeld25, Theorem 4.6]; docs/mathematics.md, section Moments. Up to order
    steps + 1 by a recurrence of O(order^2) whatever the number of steps; beyond it, where
    terms of the recurrence change sign, by repeated doubling, O(order^2 log steps). The P-mass at
    infinity is that of the one step that takes part.
    """
    largest = step.log.size - 1
    if largest <= steps + 1:
        log = _kernels().moments_of_average(step.log, float(steps))
    else:
        log = _doubled(step.log, steps)
    return PowerMoments(rounded_up(log), step.apart)


def subsampled_moments(child: PowerMoments, rate: float) -> PowerMoments:
    """Moments of 1 - rate + rate LR: the binomial theorem, O(order^2)."""
    one = np.zeros_like(child.log)
    log = _kernels().moments_of_mixture(child.log, one, rate)
    return PowerMoments(rounded_up(log), rate * child.apart)


def mixed_moments(first: PowerMoments, second: PowerMoments, weight: float) -> PowerMoments:
    """Moments of weight LR_1 + (1 - weight) LR_2 for independent ones: O(order^2)."""
    log = _kernels().moments_of_mixture(first.log, second.log, weight)
    return PowerMoments(rounded_up(log), weight * first.apart + (1 - weight) * second.apart)


def composed_moments(factors: list[tuple[PowerMoments, int]]) -> PowerMoments:
    """Moments of a product of independent powers."""
    with np.errstate(divide="ignore"):
        log = sum(count * member.log for member, count in factors)
        finite = sum(count * np.log1p(-min(member.apart, 1.0)) for member, count in factors)
    return PowerMoments(np.asarray(log), float(-np.expm1(finite)))


def _doubled(log: FloatArray, copies: int) -> FloatArray:
    """The average of n copies from that of n/2 and, for odd n, one more copy."""
    mixture = _kernels().moments_of_mixture
    result, have = log, 1
    for bit in reversed(range(copies.bit_length() - 1)):
        result, have = mixture(result, result, 0.5), 2 * have
        if copies >> bit & 1:
            result = mixture(result, log, have / (have + 1))
            have += 1
    return result


def _kernels() -> ModuleType:
    from hockeystick._numerics import kernels

    return kernels
