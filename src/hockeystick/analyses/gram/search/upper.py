"""The search for the smallest upper bound: some candidates, then finer lattices for the best.

All candidates are first computed at one fineness, so that what is compared is the majorant. The
choices are made one after the other: how many bins are left out beside cuts, how the majorant is
weighted (its tilt), every how many bins are kept, how long groups are. The best few are then
computed with more work, and the best of these with most.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from hockeystick.analyses.gram.law.reading import LawReading
from hockeystick.analyses.gram.search.candidates import GramCandidate, Majorants
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
        self._budget = budget
        self._settings = settings
        self.laws = LawCache(settings)
        self._found: dict[tuple[GramQuery, Direction], Found] = {}

    def worst(self, query: GramQuery, directions: Sequence[Direction]) -> Found:
        """The largest over the directions of the smallest bounds; `directions` is not empty."""
        return max((self.best(query, one) for one in directions), key=_value)

    def reading(self, query: GramQuery, direction: Direction) -> LawReading:
        """The law behind the smallest bound, as a bound at every epsilon."""
        _, _, candidate, fineness = self.best(query, direction)
        return self.laws.upper_reading(candidate, direction, fineness=fineness, tail=query.tail)

    def best(self, query: GramQuery, direction: Direction) -> Found:
        """The smallest bound in one direction."""
        key = query, direction
        if key not in self._found:
            self._found[key] = _Request(self, query, direction).best()
        return self._found[key]

    def at(
        self, query: GramQuery, direction: Direction, candidate: GramCandidate, work: float
    ) -> Found:
        """The bound with a part of the budget."""
        fineness = self.affordable(query, direction, candidate, work)
        return self.laws.upper(query, candidate, direction, fineness)

    def affordable(
        self, query: GramQuery, direction: Direction, candidate: GramCandidate, work: float
    ) -> float:
        """The finest lattice for a part of the budget: more for the matrix itself."""
        exact, settings = candidate in self._majorants.exact, self._settings
        most = work * self._budget
        most = settings.exact_work * most if exact else max(most, settings.least_work)
        return self.laws.affordable(candidate, direction, tail=query.tail, most=most)


class _Request:
    """The search for one number in one direction."""

    def __init__(self, search: UpperSearch, query: GramQuery, direction: Direction) -> None:
        self._search = search
        self._majorants = search._majorants
        self._settings = search._settings
        self._query = query
        self._direction = direction
        self._coarse: dict[GramCandidate, Found] = {}

    def best(self) -> Found:
        """The best few by a prediction, the best of these by a better one, computed in full."""
        settings = self._settings
        self._try_all()
        ranked = sorted(self._coarse.values(), key=self._predicted)
        # Of the matrix itself a coarse lattice shows least.
        exact = [one for one in ranked if one.candidate in self._majorants.exact]
        ranked = list(dict.fromkeys(ranked[: settings.finalists] + exact))
        medium = [self._at(one.candidate, settings.medium_work) for one in ranked]
        rates = [_rate(*pair) for pair in zip(medium, ranked, strict=True)]
        best, rate = min(zip(medium, rates, strict=True), key=lambda pair: self._predicted(*pair))
        # Longer groups, which a coarse lattice could not show.
        for longer in self._longer(best.candidate):
            medium.append(self._at(longer, settings.medium_work))
            if self._predicted(medium[-1], rate) >= self._predicted(best, rate):
                break
            best = medium[-1]
        final = self._at(best.candidate, settings.finest_work)
        return min((*medium, final), key=_value)

    def _longer(self, one: GramCandidate) -> Iterator[GramCandidate]:
        """Fewer and fewer groups, while a medium lattice is affordable."""
        settings = self._settings
        while (longer := self._majorants.longer(one)) is not None:
            if longer in self._coarse or (
                self._affordable(longer, settings.medium_work) >= settings.too_coarse
            ):
                return
            yield longer
            one = longer

    def _try_all(self) -> None:
        """Coarse bounds: bins left out, tilts, every second bin, then the length of groups."""
        majorants = self._majorants
        first = [self._short(one) for one in majorants.first]
        best = self._try([*first, *(gap for one in first for gap in majorants.with_gaps(one))])
        self._try([best, *majorants.exact])
        for more in (majorants.other_tilts, majorants.thinned):
            best = self._try([best, *more(best)])
        before = None
        while best is not before:
            before = best
            best = self._try([best, majorants.longer(best), majorants.shorter(best)])
            best = self._try([best, *majorants.with_wider_gaps(best)])

    def _short(self, one: GramCandidate) -> GramCandidate:
        """The same in more groups, until a coarse lattice is affordable."""
        settings = self._settings
        while self._affordable(one, settings.coarse_work) >= settings.too_coarse:
            shorter = self._majorants.shorter(one)
            if shorter is None:
                break
            one = shorter
        return one

    def _try(self, candidates: Iterable[GramCandidate | None]) -> GramCandidate:
        """The best of some candidates, all of which are kept; those too expensive are left out."""
        settings, found = self._settings, []
        for one in candidates:
            if one is not None and one not in self._coarse:
                fineness = max(settings.coarse, self._affordable(one, settings.coarse_work))
                exact = one in self._majorants.exact
                limit = settings.coarsest if exact else settings.too_coarse
                if fineness >= limit and self._coarse:
                    continue
                self._coarse[one] = self._search.laws.upper(
                    self._query, one, self._direction, fineness
                )
            if one is not None:
                found.append(self._coarse[one])
        return min(found or self._coarse.values(), key=self._predicted).candidate

    def _predicted(self, found: Found, rate: float | None = None) -> float:
        """What a bound may become on the finest lattice that is affordable; an estimate."""
        if rate is None:
            settings = self._settings
            known = self._query.delta is not None
            rate = settings.epsilon_rate if known else settings.delta_rate
        finest = self._affordable(found.candidate, self._settings.finest_work)
        return found.value * math.exp(rate * min(finest**2 - found.fineness**2, 0.0))

    def _affordable(self, candidate: GramCandidate, work: float) -> float:
        return self._search.affordable(self._query, self._direction, candidate, work)

    def _at(self, candidate: GramCandidate, work: float) -> Found:
        return self._search.at(self._query, self._direction, candidate, work)


def _rate(fine: Found, coarse: Found) -> float | None:
    """How fast the log of a bound falls with the square of the fineness, from two of them."""
    if not (0 < fine.value < coarse.value < math.inf and fine.fineness < coarse.fineness):
        return None
    return math.log(coarse.value / fine.value) / (coarse.fineness**2 - fine.fineness**2)


def _value(found: Found) -> float:
    return found.value
