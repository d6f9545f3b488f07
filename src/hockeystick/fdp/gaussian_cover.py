"""A mu for which G_mu lies below the trade-off function, from what a pair is made of.

Numerical laws with unbounded losses have their far tails cut, so they can never show that a
Gaussian stays below; the structure of the pair can. One rule for each kind of expression; others
have no known cover.
"""

from __future__ import annotations

import math
from functools import singledispatch

from hockeystick._numerics.law import Resolution, Side
from hockeystick.fdp.gaussian import mu_at_corners
from hockeystick.profile.expressions.allocated import Allocated
from hockeystick.profile.expressions.averaged import Averaged
from hockeystick.profile.expressions.base import Expression
from hockeystick.profile.expressions.composed import Composed
from hockeystick.profile.expressions.discrete import Atoms
from hockeystick.profile.expressions.envelope import Maximum, Minimum
from hockeystick.profile.expressions.gaussian import Gaussian
from hockeystick.profile.expressions.laplace import Laplace
from hockeystick.profile.expressions.revealed_counts import RevealedCounts
from hockeystick.profile.expressions.reversed import Reversed
from hockeystick.profile.expressions.shifts import Shifts
from hockeystick.profile.expressions.subsampled import Subsampled

__all__ = ["gaussian_cover"]

# Its losses are bounded, so nothing is cut; the finer, the tighter.
LAPLACE_RESOLUTION = Resolution(step=0.002, tail=1e-20, nats=8.0)


@singledispatch
def gaussian_cover(expression: Expression) -> float:  # noqa: ARG001
    """A mu such that N(mu, 1) against N(0, 1) dominates the pair; infinite if none is known.

    Dominance by a Gaussian survives composition (squares add) and reversal (G_mu is symmetric), and
    a mixture of pairs with one common Q is dominated by the worst of them, because the hockey-stick
    divergence is convex: so sampling never needs a larger mu.
    """
    return math.inf


@gaussian_cover.register
def _(expression: Gaussian) -> float:
    return expression.mu


@gaussian_cover.register
def _(expression: Atoms) -> float:
    return mu_at_corners(expression.atoms)


@gaussian_cover.register
def _(expression: Laplace) -> float:
    return mu_at_corners(expression.law(Side.UPPER, LAPLACE_RESOLUTION))


@gaussian_cover.register
def _(expression: Shifts) -> float:
    return expression.shifts[-1]


@gaussian_cover.register
def _(expression: RevealedCounts) -> float:
    return expression.longest


@gaussian_cover.register
def _(expression: Composed) -> float:
    return math.sqrt(sum(count * gaussian_cover(one) ** 2 for one, count in expression.members))


@gaussian_cover.register
def _(expression: Subsampled) -> float:
    return gaussian_cover(expression.child)


@gaussian_cover.register
def _(expression: Allocated) -> float:
    return gaussian_cover(expression.child)


@gaussian_cover.register
def _(expression: Reversed) -> float:
    return gaussian_cover(expression.child)


@gaussian_cover.register
def _(expression: Averaged) -> float:
    return max(gaussian_cover(member) for member, _ in expression.members)


@gaussian_cover.register
def _(expression: Maximum) -> float:
    return max(gaussian_cover(expression.first), gaussian_cover(expression.second))


@gaussian_cover.register
def _(expression: Minimum) -> float:
    return min(gaussian_cover(expression.first), gaussian_cover(expression.second))
