"""What the best of K runs guarantees: bounds on its profile from the law of one run.

One run has the laws P and Q on neighbouring data. Outputs are ordered by their score, ties broken
at random. With x(y) = P(better than y) and x'(y) = Q(better than y), the search has the density
a(x) dP on the one data set and a(x') dQ on the other, where a(x) = phi'(1 - x) (`run_counts`).
The set of worse outputs has P-mass 1 - x, so its complement has Q-mass at most

    chi(x) = the largest Q-mass of a set with P-mass x,

and x' <= chi(x). As a decreases, with s = dQ/dP and psi(x) = a(chi(x)),

    H(e^epsilon) <= E_P (a(x) - e^epsilon psi(x) s)+ ,   x uniform on [0, 1] under P.

How x and s depend on each other is the analyst's scoring, which is not known. Two bounds hold for
every dependence:

*Any place* (`any_place`). Every output may stand where it is worst:
H(e^epsilon) <= E_P h(e^epsilon s) with h(t) = max_x (a(x) - psi(x) t)+. Nearly the truth far out,
because there is room for few outputs anywhere.

*In order* (`in_order`). Let r(x) be the largest a/psi over [x, 1]. With a / r <= psi in the place
of psi the integrand is submodular in (1 - x, s): a / r decreases in x and r does not increase. The
largest expectation under given marginals is then reached by pairing the largest losses with the
smallest x (the rearrangement inequality of [CambanisSimonsStout76]). So the search is dominated by
the pair whose losses are those of one run, from the largest down, each increased by log r(x), with
the P-mass a(x) dx. Good where delta is large. Replacing r by its supremum and a by the mean of K
gives the bound of [KoskelaRedbergWang24].

Both hold at every order e^epsilon > 0. For discrete P and Q every step below rounds upwards.
`SelectionBound` takes them from the profile of one run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from hockeystick._numerics.divergence import ROUNDING
from hockeystick._numerics.law import FloatArray, Law, Resolution, Side
from hockeystick._numerics.search import smallest_argument
from hockeystick.bounds import Bound, UpperBound, largest
from hockeystick.bounds.profiles import DeltaCurve, profile_of_deltas
from hockeystick.profile import Profile
from hockeystick.profile.resolution import (
    DELTA_NATS,
    EPSILON_ROUNDING,
    Direction,
    oriented,
    tail_below,
)
from hockeystick.tuning.run_counts import RunCount

__all__ = [
    "SelectionBound",
    "SelectionCurve",
    "selection_curve",
]

# Neighbouring places differ by this factor of the density of K; a bound on epsilon is then at most
# twice its logarithm too large. With many expected runs so many places are enough.
FACTOR, MOST_PLACES = 1e-3, 50_000
# Outputs better than all but this share are one place.
SMALLEST_PLACE = 1e-300


class SelectionCurve(NamedTuple):
    """Upper bounds on the profile of a search in one direction.

    losses, masses, infinite: the losses of one run and their P-mass, infinite losses apart.
    slopes, heights: h(t) is the largest of heights - slopes t, and 0; slopes increase.
    ordered_losses, ordered_masses: the pair of the second bound.
    """

    losses: FloatArray
    masses: FloatArray
    infinite: float
    slopes: FloatArray
    heights: FloatArray
    ordered_losses: FloatArray
    ordered_masses: FloatArray
    ordered_infinite: float

    def delta(self, epsilon: float) -> float:
        """The smaller of both bounds."""
        return min(1.0, self.any_place(epsilon), self.in_order(epsilon))

    def any_place(self, epsilon: float) -> float:
        """E_P h(e^epsilon s): every output where it is worst."""
        t = np.exp(np.minimum(epsilon - self.losses, 700.0))
        # The line that is highest at t: corners of the envelope decrease with the slope.
        with np.errstate(over="ignore"):
            corners = np.diff(self.heights) / np.diff(self.slopes)
        line = np.searchsorted(-corners, -t)
        values = np.maximum(self.heights[line] - self.slopes[line] * t, 0.0)
        total = float(self.masses @ values) + self.infinite * float(self.heights[-1])
        return total * (1 + ROUNDING)

    def in_order(self, epsilon: float) -> float:
        """The hockey-stick divergence of the pair whose losses stand in order."""
        above = self.ordered_losses > epsilon
        missing = np.expm1(epsilon - self.ordered_losses[above])
        total = self.ordered_infinite - float(self.ordered_masses[above] @ missing)
        return total * (1 + ROUNDING)


def selection_curve(law: Law, count: RunCount) -> SelectionCurve:
    """The bounds for runs whose pair has this (upper) law.

    Costs as many operations as there are places, some ten thousand, and a sort of them.
    """
    places = _places(law, count)
    better, worse = places[:-1], places[1:]
    # On a cell of places the density is at most that of its better end, and psi at least that of
    # its worse end.
    largest = count.log_density(better)
    smallest = count.log_density(_largest_q_mass(law, worse))
    slopes, heights = _upper_lines(np.exp(smallest), np.exp(largest))
    log_ratio = np.maximum.accumulate((largest - smallest)[::-1])[::-1]
    top = _top_losses(law, better)
    mass = np.diff(count.mass(places))
    finite = np.isfinite(top)
    return SelectionCurve(
        losses=law.loss,
        masses=law.p,
        infinite=law.p_infinite,
        slopes=slopes,
        heights=heights,
        ordered_losses=top[finite] + log_ratio[finite],
        ordered_masses=mass[finite],
        ordered_infinite=float(mass[~finite].sum()),
    )


def _places(law: Law, count: RunCount) -> FloatArray:
    """Places x from 0 to 1: where the loss in order changes, and where a or psi has changed."""
    first, last = count.log_density(np.array([0.0, 1.0])).tolist()
    number = int(np.clip((first - last) / FACTOR, 2, MOST_PLACES))
    levels = count.where_log_density(np.linspace(first, last, number)[1:-1])
    breaks = np.concatenate((_tail_masses(law), levels, _p_mass_of(law, levels)))
    inside = breaks[(breaks > SMALLEST_PLACE) & (breaks < 1.0)]
    return np.concatenate(([0.0], np.unique(inside), [1.0]))


def _tail_masses(law: Law) -> FloatArray:
    """The P-mass of all losses from each atom up; largest losses first."""
    tail: FloatArray = np.cumsum(np.concatenate(([law.p_infinite], law.p[::-1])))
    return tail


def _top_losses(law: Law, better: FloatArray) -> FloatArray:
    """The largest loss of each cell of places when losses stand in order: at its better end."""
    losses = np.concatenate(([np.inf], law.loss[::-1], law.loss[:1]))
    found: FloatArray = losses[np.searchsorted(_tail_masses(law), better, side="right")]
    return found


def _largest_q_mass(law: Law, x: FloatArray) -> FloatArray:
    """chi(x): the Q-mass of the smallest losses that have P-mass x, rounded up, at most 1.

    Summed from the smallest losses, it is linear between atoms.
    """
    p = np.concatenate(([0.0], np.cumsum(law.p)))
    q = np.concatenate(([0.0], np.cumsum(law.q))) + law.q_zero
    return np.minimum(np.interp(x, p, q) * (1 + ROUNDING), 1.0)


def _p_mass_of(law: Law, y: FloatArray) -> FloatArray:
    """The x with chi(x) = y, about: only places are chosen by it."""
    p = np.concatenate(([0.0], np.cumsum(law.p)))
    q = np.concatenate(([0.0], np.cumsum(law.q))) + law.q_zero
    return np.interp(y, q, p)


def _upper_lines(slopes: FloatArray, heights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The lines height - slope t that are highest for some t >= 0, by increasing slope.

    The upper envelope of lines is the upper left hull of the points (slope, height).
    """
    order = np.lexsort((-heights, slopes))
    kept: list[int] = []
    for i in order:
        if kept and heights[i] <= heights[kept[-1]]:
            continue
        while len(kept) > 1 and _is_below(slopes, heights, kept[-2], kept[-1], i):
            kept.pop()
        kept.append(int(i))
    return slopes[kept], heights[kept]


def _is_below(slopes: FloatArray, heights: FloatArray, a: int, b: int, c: int) -> bool:
    """Whether the line b is nowhere above both a and c, slopes increasing from a to c."""
    left: float = (heights[b] - heights[a]) * (slopes[c] - slopes[b])
    right: float = (heights[c] - heights[b]) * (slopes[b] - slopes[a])
    return left <= right


# Laws of one run at this step: each rounding adds step^2 / 6 = 2e-5 of the variance.
STEP = 0.01
# The profile: its smallest delta, and its corners on either side, between which it is a chord.
SMALLEST_DELTA, CORNERS = 1e-20, 400


class SelectionBound(Bound):
    """The best of a random number of runs; see `selection` for the proof.

    Parameters
    ----------
    profile
        A pair that dominates one run, in both directions.
    count
        The law of the number of runs.
    """

    def __init__(self, profile: Profile, count: RunCount) -> None:
        self._profile, self._count = profile, count
        self._curve = lru_cache(maxsize=8)(self._computed)

    def epsilon(
        self, delta: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """By bisection on the bounds on delta; `accuracy` is that of the fixed grid, 0.1 %."""
        tail = tail_below(delta / max(self._count.mean, 1.0))
        return largest(self._epsilon(d, delta, self._curve(d, tail)) for d in directions)

    def delta(
        self, epsilon: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """The smaller of the two bounds of `selection`."""
        tail = tail_below(SMALLEST_DELTA)
        at = epsilon - EPSILON_ROUNDING * abs(epsilon)
        return largest(UpperBound(self._curve(d, tail).delta(at), direction=d) for d in directions)

    def as_profile(self) -> Profile:
        """The largest convex function below the bounds at some hundred orders."""
        return profile_of_deltas(self._corners("remove"), self._corners("add"))

    def _corners(self, direction: Direction) -> DeltaCurve:
        end = self.epsilon(SMALLEST_DELTA, directions=(direction,), accuracy=STEP).value
        curve = self._curve(direction, tail_below(SMALLEST_DELTA))
        # Where delta never becomes small the losses of one run say how far it changes.
        last = end if math.isfinite(end) else 2 * float(curve.ordered_losses.max(initial=1.0))
        epsilons = np.linspace(0.0, max(last, STEP), CORNERS)
        return epsilons, np.array([curve.delta(float(one)) for one in epsilons])

    def _computed(self, direction: Direction, tail: float) -> SelectionCurve:
        law = self._profile.expression.law(Side.UPPER, Resolution(STEP, tail, DELTA_NATS))
        return selection_curve(oriented(law, direction), self._count)

    @staticmethod
    def _epsilon(direction: Direction, delta: float, curve: SelectionCurve) -> UpperBound:
        enough = smallest_argument(lambda epsilon: curve.delta(epsilon) <= delta)[1]
        return UpperBound(enough * (1 + EPSILON_ROUNDING), direction=direction)
