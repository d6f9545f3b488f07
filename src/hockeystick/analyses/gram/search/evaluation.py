"""Candidates, requests, and what candidates give for them; laws are kept by `LawCache`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from hockeystick._numerics.law import Resolution, Side
from hockeystick._numerics.search import bracket
from hockeystick.analyses.gram.law import MarkovMixture, Task
from hockeystick.analyses.gram.law.chain_sums import chain_sum_law, chain_work
from hockeystick.analyses.gram.law.moving_sums import moving_sum_law, moving_work
from hockeystick.analyses.gram.law.reading import LawReading, SumLaw, averaged_copies
from hockeystick.analyses.gram.order.chains import ChainMixture
from hockeystick.analyses.gram.order.groups import Cut
from hockeystick.analyses.gram.order.moving_average import MovingAverage
from hockeystick.analyses.gram.search import SETTINGS, GramSettings
from hockeystick.errors import PrecisionError
from hockeystick.profile import Profile
from hockeystick.profile.refinement import Bounds
from hockeystick.profile.resolution import Direction

__all__ = [
    "CHAINS",
    "Found",
    "GramCandidate",
    "GramQuery",
    "LawCache",
    "Layout",
    "banded",
    "chained",
    "nearest_power",
    "opened",
]


class Recursion(NamedTuple):
    """How the law of a kind of mixture is computed, and about how many operations that takes."""

    law: Callable[[Any], SumLaw]
    work: Callable[[Any], float]


# Densities of states are sampled if terms have an independent part of about this share of what is
# new in a state (`law.state_lattices`).
OWN_TO_SAMPLE = 0.06
# Probabilities on a grid stay below 1.
LARGEST_DELTA = 0.5

# How a candidate is made: the spacing on a line, or the cut of a ring.
Layout = int | Cut

CHAINS = Recursion(chain_sum_law, chain_work)
MOVING_AVERAGES = Recursion(moving_sum_law, moving_work)


@dataclass(frozen=True, eq=False)
class GramCandidate:
    """A mixture of which independent `copies`, averaged, dominate, or are dominated."""

    name: str
    mixture: MarkovMixture
    recursion: Recursion
    copies: int = 1
    # How it was made, for those beside it.
    layout: Layout = 1
    tilt: float = 0.0

    @property
    def kind(self) -> tuple[object, ...]:
        """What candidates have in common that coarse lattices treat alike."""
        cut = opened(self.layout)
        return isinstance(self.layout, Cut), self.rounds, cut.spacing, cut.mirrors

    @property
    def rounds(self) -> bool:
        """Whether its states are rounded, about: without independent parts nothing is sampled."""
        if not isinstance(self.mixture, ChainMixture):
            return True
        fresh = self.mixture.chain * (1 - self.mixture.rho**2)
        return self.mixture.own < OWN_TO_SAMPLE * fresh


def chained(name: str, mixture: ChainMixture) -> GramCandidate:
    """A candidate with a chain."""
    return GramCandidate(name, mixture, CHAINS)


def banded(name: str, mixture: MovingAverage) -> GramCandidate:
    """A candidate with few bands."""
    return GramCandidate(name, mixture, MOVING_AVERAGES)


def opened(layout: Layout) -> Cut:
    """As a cut of a ring that is not closed."""
    return layout._replace(closed=False) if isinstance(layout, Cut) else Cut(layout)


def nearest_power(value: float, ratio: float) -> float:
    """The nearest power of the ratio; what is not positive, or infinite, stays."""
    return ratio ** round(math.log(value, ratio)) if 0 < value < math.inf else value


class GramQuery(NamedTuple):
    """The epsilon at a delta, or the delta at an epsilon, with the tail beyond the lattices."""

    delta: float | None
    epsilon: float | None
    tail: float

    def on_grid(self, ratio: float) -> GramQuery:
        """With the nearest power of the ratio for delta, or epsilon, and as large a tail."""
        if self.delta is None:
            return self._replace(epsilon=nearest_power(self.epsilon or 0.0, ratio))
        delta = min(nearest_power(self.delta, ratio), LARGEST_DELTA)
        return GramQuery(delta, None, self.tail * delta / self.delta)

    def read(self, reading: LawReading) -> float:
        """The number that a law gives."""
        if self.delta is not None:
            return reading.epsilon(self.delta)
        return reading.delta(self.epsilon or 0.0)

    def bounds_of(
        self, profile: Profile, directions: Sequence[Direction], accuracy: float
    ) -> Bounds:
        """The number that a profile gives, from both sides, also if the accuracy is missed."""
        try:
            if self.delta is not None:
                return profile.epsilon_bounds(self.delta, directions=directions, accuracy=accuracy)
            at = self.epsilon or 0.0
            return profile.delta_bounds(at, directions=directions, accuracy=accuracy)
        except PrecisionError as error:
            return Bounds(error.lower, error.upper)


class Found(NamedTuple):
    """A number with the direction, the candidate and the fineness that gave it."""

    value: float
    direction: Direction
    candidate: GramCandidate
    fineness: float


class _Key(NamedTuple):
    """What a law is of; candidates are told apart by identity."""

    candidate: GramCandidate
    direction: Direction
    side: Side
    fineness: float
    tail: float


class LawCache:
    """The laws of candidates, each computed once."""

    def __init__(self, settings: GramSettings = SETTINGS) -> None:
        self.settings = settings
        self._laws: dict[_Key, SumLaw] = {}
        self._affordable: dict[tuple[object, ...], float] = {}

    def reading(
        self,
        candidate: GramCandidate,
        direction: Direction,
        *,
        fineness: float,
        tail: float,
        side: Side = Side.UPPER,
    ) -> LawReading:
        """The law at a fineness, as a bound."""
        key = _Key(candidate, direction, side, fineness, tail)
        if key not in self._laws:
            task = self._task(candidate, direction, side, fineness, tail)
            one = candidate.recursion.law(task)
            grid = Resolution(self.settings.copy_step, tail, self.settings.copy_nats)
            self._laws[key] = averaged_copies(one, candidate.copies, grid, remove=task.remove)
        return LawReading(self._laws[key], candidate.mixture.common, direction, side)

    def affordable(
        self,
        candidate: GramCandidate,
        direction: Direction,
        *,
        tail: float,
        most: float,
        side: Side = Side.UPPER,
    ) -> float:
        """The smallest fineness that takes at most so many operations, by the cost model."""
        settings = self.settings
        key = candidate, direction, tail, most, side
        if key in self._affordable:
            return self._affordable[key]

        def fits(fineness: float) -> bool:
            task = self._task(candidate, direction, side, fineness, tail)
            return candidate.recursion.work(task) <= most

        found = settings.coarsest
        if fits(found):
            tolerance = settings.fineness_tolerance
            found = bracket(fits, settings.finest, found, tolerance=tolerance)[1]
        self._affordable[key] = found
        return found

    def _task(
        self,
        candidate: GramCandidate,
        direction: Direction,
        side: Side,
        fineness: float,
        tail: float,
    ) -> Task[MarkovMixture]:
        remove, lattices = direction == "remove", self.settings.lattices
        return Task(candidate.mixture, remove, side, fineness, tail, lattices, candidate.copies)
