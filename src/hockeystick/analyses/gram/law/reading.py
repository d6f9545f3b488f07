"""Laws of sums, and the bounds on delta and epsilon that they give.

LR = e^(N - common/2) S with N ~ N(0, common) independent of S. A `SumLaw` bounds E F(S) for the
convex functions F of one direction, and so the hockey-stick divergence, up to its charge.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hockeystick._numerics.divergence import ROUNDING
from hockeystick._numerics.gaussian import (
    LARGEST_ARGUMENT,
    LEGENDRE_NODES,
    LEGENDRE_WEIGHTS,
    erfcx,
    log_ndtr,
)
from hockeystick._numerics.gaussian import SMALL_MU as SMALL
from hockeystick._numerics.law import FloatArray, Law, Resolution, Side
from hockeystick._numerics.search import bracket
from hockeystick.profile.convolution import average_of_copies
from hockeystick.profile.resolution import Direction

__all__ = ["LawReading", "SumLaw", "add_delta", "averaged_copies", "mixed_laws", "remove_delta"]

# Relative width at which the search for epsilon stops, always on the safe side.
EPSILON_TOLERANCE = 1e-7
# Beyond this epsilon nothing is claimed: e^epsilon leaves floating point long before.
LARGEST_EPSILON = 1e4
# Sums of many terms near 1 are off by some units in their last place: a factor on the likelihood
# ratio, and so a shift of epsilon. It matters where the noise is so large that delta is as small.
SUM_ROUNDING = 1e-12
# Of a total mass, relatively.
MASS_ROUNDING = 1e-14


class SumLaw(NamedTuple):
    """Atoms s with Q-mass q, and what is added to every hockey-stick divergence."""

    s: FloatArray
    q: FloatArray
    charge: float


def mixed_laws(laws: list[SumLaw], weights: FloatArray, charge: float) -> SumLaw:
    """The mixture of laws, and a charge beside theirs; an undefined charge is infinite."""
    for law, weight in zip(laws, weights.tolist(), strict=True):
        charge += weight * law.charge
    return SumLaw(
        np.concatenate([law.s for law in laws]),
        np.concatenate([weight * law.q for law, weight in zip(laws, weights, strict=True)]),
        math.inf if math.isnan(charge) else charge,
    )


def averaged_copies(law: SumLaw, copies: int, resolution: Resolution, *, remove: bool) -> SumLaw:
    """The upper bound for the average of so many copies; O(atoms^2 log copies).

    E F of the average is, in each copy with the others fixed, the expectation of a convex function
    that increases (remove) or decreases (add) like F: a law that bounds those of one copy may take
    its place, one copy after the other, and roundings of averages keep means. When adding, the
    charge of one copy is for the mass that its law lacks, which goes to 0, where F is largest. When
    removing, the mass that it lacks goes to 0 as well; the charge is for what that, and other
    roundings, take from the mean, F(x + y) <= F(x) + y: an atom at infinity, of which the average
    keeps all. Masses of more than 1, from sampled densities, are a factor for each copy.
    """
    if copies == 1:
        return law
    some = (law.s > 0) & (law.q > 0)
    s, q = law.s[some], law.q[some]
    missing = max(1.0 - float(q.sum()), 0.0)
    if not remove:
        missing = float(law.q[~some].sum()) + law.charge
    # Masses of more than 1 are that many times a law.
    total = max(float(q.sum()) + missing, 1.0)
    q, missing, charge = q / total, missing / total, law.charge / total
    one = Law(np.log(s), q * s, q, charge if remove else 0.0, missing)
    many = average_of_copies(one, copies, resolution, Side.UPPER)
    more = math.exp(copies * math.log(total)) * (1 + copies * MASS_ROUNDING)
    return SumLaw(
        np.append(np.exp(many.loss), 0.0),
        more * np.append(many.q, many.q_zero),
        more * many.p_infinite if remove else 0.0,
    )


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


DELTAS: dict[Direction, Callable[..., float]] = {"remove": remove_delta, "add": add_delta}


@dataclass(frozen=True, eq=False)
class LawReading:
    """A law of sums as a bound on delta at every epsilon, and on epsilon at every delta.

    One direction and one side: upper bounds from upper laws, lower bounds from lower ones.
    """

    law: SumLaw
    common: float
    direction: Direction
    side: Side

    def delta(self, epsilon: float) -> float:
        """A bound on delta(epsilon), on the side of the law; O(atoms)."""
        upper = self.side is Side.UPPER
        law, at = self.law, epsilon - SUM_ROUNDING if upper else epsilon + SUM_ROUNDING
        value = float(DELTAS[self.direction](law.s, law.q, common=self.common, epsilon=at))
        if math.isnan(value):
            return 1.0 if upper else 0.0
        if upper:
            return min(float(value + law.charge) * (1 + ROUNDING), 1.0)
        return value * (1 - ROUNDING)

    def epsilon(self, delta: float) -> float:
        """A bound on epsilon(delta), on the side of the law; infinite above 10,000."""
        if self.delta(0.0) <= delta:
            return 0.0
        high = 1.0
        while self.delta(high) > delta:
            high *= 2
            if high > LARGEST_EPSILON:
                return math.inf
        low, high = bracket(
            lambda e: self.delta(e) <= delta,
            high / 2 if high > 1 else 0.0,
            high,
            tolerance=EPSILON_TOLERANCE,
        )
        return high if self.side is Side.UPPER else low
