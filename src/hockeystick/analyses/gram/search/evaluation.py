"""Requests, and what candidates give for them; computed laws are kept by `LawCache`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hockeystick._numerics.law import Side
from hockeystick._numerics.search import bracket
from hockeystick.analyses.gram.law.reading import LawReading, SumLaw
from hockeystick.analyses.gram.law.task import MarkovMixture, Task
from hockeystick.analyses.gram.search.candidates import GramCandidate
from hockeystick.analyses.gram.search.settings import SETTINGS, GramSettings
from hockeystick.errors import PrecisionError
from hockeystick.profile import Profile
from hockeystick.profile.refinement import Bounds
from hockeystick.profile.resolution import DELTA_FACTOR, SMALLEST_EPSILON, Direction

__all__ = ["Found", "GramQuery", "LatticeEvaluator", "LawCache"]


class GramQuery(NamedTuple):
    """The epsilon at a delta, or the delta at an epsilon, with the tail beyond the lattices."""

    delta: float | None
    epsilon: float | None
    tail: float

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

    def scale(self, value: float) -> float:
        """What an accuracy is relative to; delta moves faster than epsilon."""
        return max(value, SMALLEST_EPSILON) if self.delta is not None else DELTA_FACTOR * value


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
        self._ring_growth: dict[GramCandidate, float] = {}

    def reading(
        self,
        candidate: GramCandidate,
        direction: Direction,
        *,
        side: Side,
        fineness: float,
        tail: float,
    ) -> LawReading:
        """The law at a fineness, as a bound."""
        key = _Key(candidate, direction, side, fineness, tail)
        if key not in self._laws:
            task = self._task(candidate, direction, side, fineness, tail)
            self._laws[key] = candidate.recursion.law(task)
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

        def fits(fineness: float) -> bool:
            task = self._task(candidate, direction, side, fineness, tail)
            return candidate.recursion.work(task) <= most

        if not fits(settings.coarsest):
            return settings.coarsest
        tolerance = settings.fineness_tolerance
        return bracket(fits, settings.finest, settings.coarsest, tolerance=tolerance)[1]

    def evaluated(self, direction: Direction) -> list[tuple[GramCandidate, float]]:
        """The candidates and finenesses of the laws that were computed, in this order."""
        return [(key.candidate, key.fineness) for key in self._laws if key.direction == direction]

    def ring_growth(self, candidate: GramCandidate) -> float:
        """By how much epsilon of a ring exceeds that of its line: the root of chi-squared's ratio.

        An estimate: it is right at high noise, where the sum of all entries decides, and near 1 at
        low noise, where the diagonal does.
        """
        if candidate.line is None:
            return 1.0
        if candidate not in self._ring_growth:
            ring, line = (
                float(np.expm1(one.mixture.gram()).sum()) for one in (candidate, candidate.line)
            )
            self._ring_growth[candidate] = math.sqrt(ring / line) if line > 0 else 1.0
        return self._ring_growth[candidate]

    def _task(
        self,
        candidate: GramCandidate,
        direction: Direction,
        side: Side,
        fineness: float,
        tail: float,
    ) -> Task[MarkovMixture]:
        remove, lattices = direction == "remove", self.settings.lattices
        return Task(candidate.mixture, remove, side, fineness, tail, lattices)


class LatticeEvaluator(NamedTuple):
    """One query in one direction: upper bounds of candidates, and how they converge."""

    laws: LawCache
    query: GramQuery
    direction: Direction

    def at(self, candidate: GramCandidate, fineness: float) -> Found:
        """The bound that a candidate gives on one lattice."""
        reading = self.laws.reading(
            candidate,
            self.direction,
            side=Side.UPPER,
            fineness=fineness,
            tail=self.query.tail,
        )
        return Found(self.query.read(reading), self.direction, candidate, fineness)

    def affordable(self, candidate: GramCandidate, most: float) -> float:
        """The smallest fineness that takes at most so many operations."""
        return self.laws.affordable(candidate, self.direction, tail=self.query.tail, most=most)

    @property
    def usual_rate(self) -> float:
        """By how much the log of a bound grows with the square of the fineness, about."""
        settings = self.laws.settings
        return settings.epsilon_rate if self.query.delta is not None else settings.delta_rate

    def rate(self, coarse: Found, fine: Found) -> float:
        """The same, measured from two lattices; where that is not possible, the usual one."""
        if not (0 < fine.value < coarse.value < math.inf and fine.fineness < coarse.fineness):
            return self.usual_rate
        return math.log(coarse.value / fine.value) / (coarse.fineness**2 - fine.fineness**2)

    def scaled(self, value: float, factor: float) -> float:
        """What a number becomes if epsilon changes by a factor, about."""
        return value * float(factor ** (self.usual_rate / self.laws.settings.epsilon_rate))
