"""Moments of likelihood ratios, as logarithms that are rounded up.

log E_Q[LR^m] for m = 0, 1, ..., together with the P-mass where LR is infinite, which no moment
includes; and moments at real orders, from laws. Every function returns upper bounds when it is
given upper bounds: all terms are positive.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hockeystick._numerics.law import FloatArray, Law

if TYPE_CHECKING:
    from types import ModuleType

__all__ = [
    "MomentNodes",
    "PowerMoments",
    "allocated_moments",
    "composed_moments",
    "composed_nodes",
    "mixed_moments",
    "moments_of_law",
    "nodes_of_law",
    "rounded_up",
    "subsampled_moments",
]

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
