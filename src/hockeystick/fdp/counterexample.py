"""What shows that a family generates no Blackwell chain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hockeystick._numerics.law import FloatArray, Law
from hockeystick.fdp.adaptive import FirstStage, IntArray, adaptive_height, worst_selection
from hockeystick.fdp.order import calibration_points, crossings_of
from hockeystick.fdp.products import Counts, Products
from hockeystick.fdp.trade_off import PrivacyCurve, TradeOff
from hockeystick.profile.refinement import Laws

__all__ = ["Counterexample", "Witness", "witness_of"]

# At most so many corners of each curve, and ratios of each first step, give orders to try: 20^2
# orders take tenths of a second.
MOST_CORNERS = 20
# What rounding changes of a height, a sum of at most some hundreds of probabilities.
ROUNDING = 1e-13


@dataclass(frozen=True, eq=False)
class Counterexample:
    """A selection rule that exceeds the budget of the natural filter.

    The first step runs one member of the family. What the remaining steps run depends on the
    likelihood ratio of its output.

    Attributes
    ----------
    first_step : int
        The member that the first step runs.
    gamma : float
        The order at which the budget is exceeded.
    ratio : numpy.ndarray
        Likelihood ratios of the first output.
    choice : numpy.ndarray
        After ratio[k] the remaining steps run the first product of the witness if choice[k] is 0,
        the second if it is 1.
    height : float
        The adaptive composition has at least this H.
    budget : float
        Both compositions that the filter allows have at most this H.
    """

    first_step: int
    gamma: float
    ratio: FloatArray
    choice: IntArray
    height: float
    budget: float

    def __repr__(self) -> str:
        return (
            f"Counterexample(first_step={self.first_step}, gamma={self.gamma:.6g}, "
            f"height={self.height:.6g}, budget={self.budget:.6g})"
        )

    @property
    def excess(self) -> float:
        """By how much the budget is exceeded, at least."""
        return self.height - self.budget


@dataclass(frozen=True, eq=False)
class Witness:
    """Two products without Blackwell order.

    Attributes
    ----------
    first, second : tuple of int
        How often each member occurs in the two products.
    calibration_points : numpy.ndarray
        Orders at which their profiles cross.
    counterexample : Counterexample or None
        None if no member of the family can serve as a first step that exploits the crossing, for
        instance because its losses are too small.
    """

    first: Counts
    second: Counts
    calibration_points: FloatArray
    counterexample: Counterexample | None


def witness_of(products: Products, first: Counts, second: Counts, *, slack: float) -> Witness:
    """The calibration points of two products and the largest excess over the budget that is found.

    All members are tried as the first step, on grids that are refined until the excess is proven.
    """
    crossings = np.empty(0)
    for resolution in range(products.resolutions):
        laws = [products.laws(counts, resolution) for counts in (first, second)]
        crossings = calibration_points(*(TradeOff.of_law(law.lower) for law in laws)).gamma
        unit = np.eye(products.size, dtype=int)
        found = [
            _largest_excess(k, products.laws(tuple(unit[k].tolist()), resolution), laws, crossings)
            for k in range(products.size)
        ]
        best = found[_first_largest(np.array([one.excess for one in found]))]
        # An excess within the slack may be rounding.
        if best.excess > slack:
            return Witness(first, second, crossings, best)
    return Witness(first, second, crossings, None)


def _largest_excess(
    member: int, stage: Laws, laws: Sequence[Laws], crossings: FloatArray
) -> Counterexample:
    """The order at which the worst rule after this first step exceeds the budget most.

    The worst rule at each order is known [Tran26, Theorem B.1 and Remark B.5]. Heights are
    linear in the order between products of a corner and a likelihood ratio of the first step, so
    that the excess is largest at such a product or where the two fixed compositions cross: all of
    these are tried for small polygons, and quantiles of them for large ones.
    """
    lower, upper = (FirstStage.of_tradeoff(TradeOff.of_law(law)) for law in stage)
    below, above = ([PrivacyCurve.of_law(law) for law in side] for side in zip(*laws, strict=True))
    points = np.concatenate([crossings, *(_ratios(law.lower) for law in laws)])
    orders = np.unique(np.multiply.outer(points, np.append(_ratios(stage.lower), 1.0)))
    orders = orders[np.isfinite(orders)]
    fixed = _fixed_heights(lower, below, orders)
    orders = np.union1d(orders, crossings_of(orders, *fixed))
    excess = [
        worst_selection(lower, below, gamma=gamma).height for gamma in orders.tolist()
    ] - _fixed_heights(upper, above, orders).max(axis=0)
    gamma = float(orders[_first_largest(excess)])
    worst = worst_selection(lower, below, gamma=gamma)
    budget = worst_selection(upper, above, gamma=gamma).budget
    return Counterexample(member, gamma, lower.outcome, worst.choice, worst.height, budget)


def _first_largest(excess: FloatArray) -> int:
    """The first of those that are largest but for rounding: the same one on every machine."""
    return int(np.argmax(excess >= excess.max() - ROUNDING))


def _fixed_heights(
    stage: FirstStage, curves: Sequence[PrivacyCurve], orders: FloatArray
) -> FloatArray:
    """H of the compositions whose later steps do not depend on the first output, row by row."""
    nobody = np.zeros(stage.p.size)
    return np.array(
        [adaptive_height(stage, [curve], choice=nobody, gamma=orders) for curve in curves]
    )


def _ratios(law: Law) -> FloatArray:
    """Likelihood ratios of a law: all of them, or quantiles if they are many."""
    if law.loss.size <= MOST_CORNERS:
        return np.exp(law.loss)
    weight = np.cumsum(law.p + law.q)
    shares = np.linspace(0.0, 1.0, MOST_CORNERS + 1)[1:] * weight[-1]
    index = np.minimum(np.searchsorted(weight, shares), law.loss.size - 1)
    ratios: FloatArray = np.exp(law.loss[np.unique(index)])
    return ratios
