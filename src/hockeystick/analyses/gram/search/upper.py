"""The search for the smallest upper bound: a dozen candidates, ever finer lattices for ever fewer.

Every evaluation of a stage gets the same work, so that what is compared is what the work buys. The
first stage chooses how the majorant is weighted (its tilt), then how many bins are left out beside
cuts, then whether all bins are kept. The best few are evaluated with more work, the best of these
with most.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from hockeystick.analyses.gram.law.reading import LawReading
from hockeystick.analyses.gram.search.candidates import GramCandidate, Layout, Majorants
from hockeystick.analyses.gram.search.evaluation import Found, GramQuery, LawCache
from hockeystick.analyses.gram.search.settings import SETTINGS, GramSettings
from hockeystick.profile.resolution import Direction

__all__ = ["UpperSearch"]


class UpperSearch:
    """The best bounds of majorants within a budget; laws and results are kept."""

    def __init__(
        self, majorants: Majorants, budget: float, settings: GramSettings = SETTINGS
    ) -> None:
        self._majorants = majorants
        bins = max(majorants.bins / settings.bins_of_budget, 1.0)
        more = float(bins**settings.more_for_bins)
        self._budget = budget * min(more, settings.most_of_budget)
        self._settings = settings
        self.laws = LawCache(settings)
        self._found: dict[tuple[GramQuery, Direction], Found] = {}

    def worst(self, query: GramQuery, directions: Sequence[Direction]) -> Found:
        """The largest over the directions of the smallest bounds; `directions` is not empty.

        A direction in which the majorant of another shows as little is not searched.
        """
        first, *others = directions
        worst = self.best(query, first)
        for direction in others:
            found = self._no_worse(query, direction, worst) or self.best(query, direction)
            worst = max(worst, found, key=_value)
        return worst

    def best(self, query: GramQuery, direction: Direction) -> Found:
        """The smallest bound in one direction."""
        key = query, direction
        if key not in self._found:
            self._found[key] = self._best(query, direction)
        return self._found[key]

    def _best(self, query: GramQuery, direction: Direction) -> Found:
        """The best few by a prediction, the best of these by a better one, computed in full."""
        settings = self._settings
        coarse = self._first(query, direction)
        coarse.sort(key=lambda one: self._predicted(query, one))
        medium = {
            one: self._at(query, direction, one.candidate, settings.medium_work)
            for one in coarse[: settings.finalists]
        }

        def predicted(one: Found) -> float:
            return self._predicted(query, medium[one], _rate(one, medium[one]))

        best = min(medium, key=predicted).candidate
        final = self._at(query, direction, best, settings.finest_work)
        return min((*medium.values(), final), key=_value)

    def _predicted(self, query: GramQuery, found: Found, rate: float | None = None) -> float:
        """What a bound may become on the finest lattice that is affordable; an estimate."""
        if rate is None:
            settings = self._settings
            rate = settings.epsilon_rate if query.delta is not None else settings.delta_rate
        value, direction, candidate, fineness = found
        most = self._most(candidate, self._settings.finest_work)
        finest = self.laws.affordable(candidate, direction, tail=query.tail, most=most)
        return value * math.exp(rate * min(finest**2 - fineness**2, 0.0))

    def reading(self, query: GramQuery, direction: Direction) -> LawReading:
        """The law behind the smallest bound, as a bound at every epsilon."""
        _, _, candidate, fineness = self.best(query, direction)
        return self.laws.upper_reading(candidate, direction, fineness=fineness, tail=query.tail)

    def _first(self, query: GramQuery, direction: Direction) -> list[Found]:
        """Coarse bounds: tilts, cuts and how many of them, then every second bin and so on."""
        majorants, work = self._majorants, self._settings.coarse_work
        found = [self._at(query, direction, one, work) for one in self._exact(query, direction)]
        made: dict[GramCandidate, tuple[Layout, float]] = {}

        def tried(layouts: Iterable[Layout], tilts: Iterable[float]) -> tuple[Layout, float]:
            """Evaluate all combinations; the best one so far."""
            for layout in layouts:
                for tilt in tilts:
                    candidate = majorants.candidate(layout, tilt)
                    if candidate is not None and candidate not in made:
                        made[candidate] = layout, tilt
                        found.append(self._at(query, direction, candidate, work))
            chains = [one for one in found if one.candidate in made]
            return made[min(chains, key=lambda one: self._predicted(query, one)).candidate]

        layout, tilt = tried(majorants.layouts, majorants.tilts)
        layout, tilt = tried(majorants.with_gaps(layout, tilt), [tilt])
        before = None
        while layout != before:
            before = layout
            layout, tilt = tried(majorants.other_copies(layout), [tilt])
        tried(majorants.thinned(layout), [tilt])
        return found

    def _exact(self, query: GramQuery, direction: Direction) -> list[GramCandidate]:
        """Those exact candidates for which a coarse evaluation is affordable."""
        coarsest = self._settings.coarsest

        def fineness(one: GramCandidate) -> float:
            most = self._most(one, self._settings.coarse_work)
            return self.laws.affordable(one, direction, tail=query.tail, most=most)

        return [one for one in self._majorants.exact if fineness(one) < coarsest]

    def _no_worse(self, query: GramQuery, direction: Direction, worst: Found) -> Found | None:
        """The bound with the majorant of another direction, if it is hardly larger than there."""
        settings = self._settings
        for work in (settings.coarse_work, settings.finest_work):
            found = self._at(query, direction, worst.candidate, work)
            if found.value <= settings.as_good * worst.value:
                return found
        return found if found.value <= settings.hardly_worse * worst.value else None

    def _at(
        self, query: GramQuery, direction: Direction, candidate: GramCandidate, work: float
    ) -> Found:
        return self.laws.upper(query, candidate, direction, self._most(candidate, work))

    def _most(self, candidate: GramCandidate, work: float) -> float:
        """In operations: more for the matrix itself, of which nothing but the lattice is lost."""
        exact = candidate in self._majorants.exact
        return work * self._budget * (self._settings.exact_work if exact else 1.0)


def _rate(coarse: Found, fine: Found) -> float | None:
    """How fast the log of a bound falls with the square of the fineness, from two of them."""
    if not (0 < fine.value < coarse.value < math.inf and fine.fineness < coarse.fineness):
        return None
    return math.log(coarse.value / fine.value) / (coarse.fineness**2 - fine.fineness**2)


def _value(found: Found) -> float:
    return found.value
