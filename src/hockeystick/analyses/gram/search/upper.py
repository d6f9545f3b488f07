"""The search for the smallest upper bound: a dozen coarse evaluations, finer ones for the best.

All cuts are tried with one tilt, the best one with others. The best few are then computed with more
work, and the best of these with most: what two lattices tell about the limit decides.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from hockeystick.analyses.gram.law.reading import LawReading
from hockeystick.analyses.gram.search.candidates import Majorants
from hockeystick.analyses.gram.search.evaluation import Found, GramCandidate, GramQuery, LawCache
from hockeystick.analyses.gram.search.settings import SETTINGS, GramSettings
from hockeystick.profile.resolution import Direction

__all__ = ["UpperSearch"]

# Lattices that are closer to each other tell no rate.
FARTHEST_TO_COMPARE = 0.8


class UpperSearch:
    """The best bounds of majorants within a budget; laws and results are kept."""

    def __init__(
        self, majorants: Majorants, budget: float, settings: GramSettings = SETTINGS
    ) -> None:
        self.majorants = majorants
        self.budget = budget
        self.settings = settings
        self.laws = LawCache(settings)
        self._found: dict[tuple[GramQuery, Direction], Found] = {}

    def worst(self, query: GramQuery, directions: Sequence[Direction]) -> Found:
        """The largest over the directions of the smallest bounds; `directions` is not empty."""
        return max((self.best(query, one) for one in directions), key=_value)

    def reading(self, query: GramQuery, direction: Direction) -> LawReading:
        """The law behind the smallest bound, as a bound at every epsilon."""
        _, _, candidate, fineness = self.best(query, direction)
        return self.laws.reading(candidate, direction, fineness=fineness, tail=query.tail)

    def best(self, query: GramQuery, direction: Direction) -> Found:
        """The smallest bound in one direction."""
        key = query, direction
        if key not in self._found:
            self._found[key] = _Request(self, query, direction).best()
        return self._found[key]


class _Request:
    """The search for one number in one direction."""

    def __init__(self, search: UpperSearch, query: GramQuery, direction: Direction) -> None:
        self._search = search
        self._query = query
        self._direction = direction
        self._known: dict[GramCandidate, Found] = {}

    def best(self) -> Found:
        """All cuts with the usual tilt, the best with others, then the best few, finer."""
        settings, majorants = self._search.settings, self._search.majorants
        self._coarse(majorants.open_cuts())
        for one in self._best_cuts():
            self._climb(one)
        self._coarse(majorants.exact)
        ranked = self._finalists()
        finer = [self._at(one.candidate, settings.medium_work) for one in ranked]
        tried = [*zip(finer, map(_rate, finer, ranked), strict=True), *self._closed()]
        best = min(tried, key=lambda x: self._predicted(*x))[0].candidate
        return min((*finer, self._at(best, settings.finest_work)), key=_value)

    def _closed(self) -> list[tuple[Found, None]]:
        """The first closed ring whose last lattice would be fine, with the best tilt so far."""
        settings, (best, *_) = self._search.settings, self._best_cuts()
        for one in self._search.majorants.closed_cuts(best.tilt):
            if self._affordable(one, settings.finest_work) <= settings.closed_fineness:
                return [(self._at(one, settings.medium_work), None)]
        return []

    def _ranked(self) -> list[GramCandidate]:
        """All so far, the best first."""
        return [one.candidate for one in sorted(self._known.values(), key=self._predicted)]

    def _best_cuts(self) -> list[GramCandidate]:
        """The best with mirrors and the best without."""
        found = {one.mirrors: one for one in reversed(self._ranked())}
        return [one for one in self._ranked() if one in found.values()]

    def _finalists(self) -> list[Found]:
        """The best of each kind, if not far behind: coarse lattices lose more of some kinds."""
        known = {one.candidate: one for one in self._known.values()}
        kinds = {one.kind: known[one] for one in reversed(self._ranked())}
        most = self._search.settings.far_behind * min(map(self._predicted, kinds.values()))
        return [one for one in kinds.values() if self._predicted(one) <= most]

    def _climb(self, best: GramCandidate) -> None:
        """Other tilts as long as they help, then other numbers of groups and of bins left out."""
        majorants = self._search.majorants
        for neighbours in (majorants.tilted, majorants.beside):
            before = None
            while best is not before:
                near = [best, *neighbours(best)]
                self._coarse(near)
                known = [self._known[one] for one in near if one in self._known]
                before, best = best, min(known, key=self._predicted).candidate

    def _coarse(self, candidates: Iterable[GramCandidate | None]) -> None:
        """Evaluate candidates on coarse lattices; those too expensive are left out."""
        settings = self._search.settings
        for one in candidates:
            if one is None or one in self._known:
                continue
            fineness = max(settings.coarse, self._affordable(one, settings.coarse_work))
            if not self._known or fineness < settings.too_coarse:
                self._known[one] = self._evaluated(one, fineness)

    def _predicted(self, found: Found, rate: float | None = None) -> float:
        """What a bound may become on the finest lattice that is affordable; an estimate."""
        settings = self._search.settings
        known = self._query.delta is not None
        usual = settings.epsilon_rate if known else settings.delta_rate
        _, closed, rounds = found.candidate.kind
        usual *= settings.rounding if closed or rounds else 1.0
        # On very coarse lattices bounds fall faster than with the square of the fineness.
        rate = usual if rate is None else min(rate, usual)
        finest = self._affordable(found.candidate, settings.finest_work)
        return found.value * math.exp(rate * min(finest**2 - found.fineness**2, 0.0))

    def _affordable(self, candidate: GramCandidate, work: float) -> float:
        """The finest lattice for a part of the budget: more for the matrix itself."""
        settings = self._search.settings
        most = max(work * self._search.budget, settings.least_work)
        if candidate in self._search.majorants.exact:
            most = settings.exact_work * work * self._search.budget
        laws, tail = self._search.laws, self._query.tail
        return laws.affordable(candidate, self._direction, tail=tail, most=most)

    def _at(self, candidate: GramCandidate, work: float) -> Found:
        return self._evaluated(candidate, self._affordable(candidate, work))

    def _evaluated(self, candidate: GramCandidate, fineness: float) -> Found:
        """The bound on a lattice."""
        laws, direction = self._search.laws, self._direction
        law = laws.reading(candidate, direction, fineness=fineness, tail=self._query.tail)
        return Found(self._query.read(law), direction, candidate, fineness)


def _rate(fine: Found, coarse: Found) -> float | None:
    """How fast the log of a bound falls with the square of the fineness, from two of them."""
    apart = fine.fineness < FARTHEST_TO_COMPARE * coarse.fineness
    if not (apart and 0 < fine.value < coarse.value < math.inf):
        return None
    return math.log(coarse.value / fine.value) / (coarse.fineness**2 - fine.fineness**2)


def _value(found: Found) -> float:
    return found.value
