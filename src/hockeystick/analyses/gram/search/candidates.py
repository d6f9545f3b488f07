"""Mixtures with Markov structure that dominate a plan's mixture over bins, and laws of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from hockeystick._numerics.divergence import ROUNDING
from hockeystick._numerics.law import Side
from hockeystick._numerics.search import bracket
from hockeystick.analyses.gram.law.chain_mixture import Mixture
from hockeystick.analyses.gram.law.lognormal import add_delta, remove_delta
from hockeystick.analyses.gram.law.moving_sums import moving_sum_law, moving_work
from hockeystick.analyses.gram.law.partial_sums import sum_law, work
from hockeystick.analyses.gram.law.sum_table import SumLaw
from hockeystick.profile.refinement import Direction

__all__ = ["CHAINS", "COARSEST", "MOVING", "Candidate", "Reading", "Richer"]

PRICES: dict[Direction, Callable[..., float]] = {"remove": remove_delta, "add": add_delta}
# Relative width at which a search for epsilon stops.
EPSILON_TOLERANCE = 1e-7
LARGEST_EPSILON = 1e4
# Sums of many terms near 1 are off by some units in their last place: a factor on the likelihood
# ratio, and so a shift of epsilon. It matters where the noise is so large that delta is as small.
SUM_ROUNDING = 1e-12
# Lattices are not finer, nor coarser.
FINEST, COARSEST = 0.02, 2.0


@dataclass(frozen=True, eq=False)
class Reading:
    """A law of sums: bounds delta at every epsilon in one direction."""

    law: SumLaw
    common: float
    direction: Direction
    side: Side

    def delta(self, epsilon: float) -> float:
        """A bound on delta(epsilon), on the side of the law."""
        upper = self.side is Side.UPPER
        law, at = self.law, epsilon - SUM_ROUNDING if upper else epsilon + SUM_ROUNDING
        value = float(PRICES[self.direction](law.s, law.q, common=self.common, epsilon=at))
        if math.isnan(value):
            return 1.0 if upper else 0.0
        if upper:
            return min(float(value + law.charge) * (1 + ROUNDING), 1.0)
        return value * (1 - ROUNDING)

    def epsilon(self, delta: float) -> float:
        """A bound on epsilon(delta); infinite if none below 10,000 is enough."""
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


class Recursion(NamedTuple):
    """How the law of a kind of mixture is computed, and how many operations that takes."""

    law: Callable[..., SumLaw]
    work: Callable[..., float]


CHAINS, MOVING = Recursion(sum_law, work), Recursion(moving_sum_law, moving_work)


class Richer(NamedTuple):
    """A candidate with one more chain, and by how much its score is better."""

    candidate: Candidate
    gain: float


@dataclass(frozen=True, eq=False)
class Candidate:
    """A mixture, and how it came about, with the laws that were computed so far.

    `richer` looks for a closer one with a second chain; `mirrored` is a ring on a line. One that
    is `dear` is for budgets with which a coarse look is quick.
    """

    name: str
    mixture: Mixture
    recursion: Recursion = CHAINS
    richer: Callable[[], Richer | None] = lambda: None
    mirrored: Candidate | None = None
    dear: bool = False
    _laws: dict[tuple[object, ...], SumLaw] = field(default_factory=dict)
    _surrogates: list[Candidate] = field(default_factory=list)

    def cut_open(self) -> Candidate:
        """The same on a line: no bound for a ring, but close, quick, and in the same order."""
        if not self.mixture.ring:
            return self
        if self._surrogates == []:
            opened: Any = replace(self.mixture, ring=False)  # type: ignore[type-var]
            self._surrogates.append(Candidate(self.name, opened, self.recursion))
        return self._surrogates[0]

    @cached_property
    def growth_of_ring(self) -> float:
        """By how much epsilon is larger than on the line: by the root of the chi-squared's ratio.

        An estimate: it is right at high noise, where the sum of all entries decides, and near 1 at
        low noise, where the diagonal does.
        """
        if not self.mixture.ring:
            return 1.0
        ring, line = (float(np.expm1(one.mixture.gram()).sum()) for one in (self, self.cut_open()))
        return math.sqrt(ring / line) if line > 0 else 1.0

    def affordable(
        self, direction: Direction, *, tail: float, most: float, side: Side = Side.UPPER
    ) -> float:
        """The smallest fineness whose work is within bounds."""

        def fits(fineness: float) -> bool:
            cost = self.recursion.work(
                self.mixture,
                remove=direction == "remove",
                side=side,
                fineness=fineness,
                tail=tail,
            )
            return cost <= most

        if not fits(COARSEST):
            return COARSEST
        return bracket(fits, FINEST, COARSEST, tolerance=0.02)[1]

    def reading(self, direction: Direction, *, side: Side, fineness: float, tail: float) -> Reading:
        """The law at a fineness, computed once."""
        key = (direction, side, fineness, tail)
        if key not in self._laws:
            remove = direction == "remove"
            self._laws[key] = self.recursion.law(
                self.mixture, remove=remove, side=side, fineness=fineness, tail=tail
            )
        return Reading(self._laws[key], self.mixture.common, direction, side)
