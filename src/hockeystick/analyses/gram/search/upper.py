"""The smallest upper bound of majorants within a budget.

From a few layouts the search goes on to whatever is best among those that differ in one choice: how
the majorant is weighted (its tilt), every how many bins are kept, in how many groups, how many bins
are left out beside cuts. All are computed at one fineness, so that what is compared is the
majorant. The best few are then computed with more work, and the best of these with most.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from itertools import islice

from hockeystick.analyses.gram.law.reading import LawReading
from hockeystick.analyses.gram.order.groups import Cut
from hockeystick.analyses.gram.search import SETTINGS, GramSettings
from hockeystick.analyses.gram.search.candidates import Majorants
from hockeystick.analyses.gram.search.evaluation import (
    Found,
    GramCandidate,
    GramQuery,
    LawCache,
    Layout,
    nearest_power,
    opened,
)
from hockeystick.profile.resolution import Direction

__all__ = ["MajorantRace", "UpperSearch"]


# Lattices that are closer to each other tell no rate.
FARTHEST_TO_COMPARE = 0.75


class UpperSearch:
    """The best bounds of majorants within a budget; laws and results are kept.

    Which majorant is computed is chosen for a question nearby: with the matrix scaled to the next
    number of a grid, and likewise delta or epsilon. Choices are kept for all matrices that differ
    in scale alone, so that the noise levels of a calibration share them, and an answer does not
    depend on what was asked before.
    """

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
            race = MajorantRace(self.majorants, self.budget, query, direction, self.laws)
            chosen = self._chosen(query, direction) or race.best()
            self._found[key] = min(map(race.finest, chosen), key=_value)
        return self._found[key]

    def _chosen(self, query: GramQuery, direction: Direction) -> list[GramCandidate]:
        """The majorants that are best for the question on the grid, as far as there are such."""
        settings, shape = self.settings, self.majorants.shape
        scale = nearest_power(self.majorants.largest, settings.scale_grid)
        asked = query.on_grid(settings.question_grid)
        # Choices of a calibration's first steps, with little work, are those of its last ones.
        times = math.log(self.budget / settings.usual_budget, settings.budget_grid)
        budget = settings.usual_budget * settings.budget_grid ** math.ceil(times - 1e-9)
        key = hashlib.sha256(shape.tobytes()).digest(), shape.shape
        known = (*key, scale, asked, direction, budget, settings)
        if known not in _CHOICES:
            nearby = Majorants(scale * shape, settings)
            race = MajorantRace(nearby, budget, asked, direction, LawCache(settings))
            if len(_CHOICES) >= MOST_CHOICES:
                _CHOICES.clear()
            _CHOICES[known] = [(one.name, one.layout, one.tilt) for one in race.best()]
        made = [self.majorants.named(*one) for one in _CHOICES[known]]
        return [one for one in made if one is not None]


# The majorants that were chosen, by what they were chosen for.
_CHOICES: dict[tuple[object, ...], list[tuple[str, Layout, float]]] = {}
MOST_CHOICES = 1_000


class MajorantRace:
    """The search for the majorant with the smallest number in one direction."""

    def __init__(
        self,
        majorants: Majorants,
        budget: float,
        query: GramQuery,
        direction: Direction,
        laws: LawCache,
    ) -> None:
        self._majorants = majorants
        self._budget = budget
        self._settings = laws.settings
        self._query = query
        self._direction = direction
        self._laws = laws
        self._known: dict[GramCandidate, Found] = {}

    def finest(self, candidate: GramCandidate) -> Found:
        """The bound of a majorant on the finest lattice that is affordable."""
        return self._at(candidate, self._settings.finest_work)

    def best(self) -> list[GramCandidate]:
        """Climbs from the best layout, then compares the best few with more work.

        One majorant; beside a closed ring, of which coarse lattices say little, another one.
        """
        settings, majorants = self._settings, self._majorants
        best = self._coarse(map(self._affordable_groups, majorants.first))
        self._coarse(majorants.exact)
        before = None
        while best is not before:
            before, best = best, self._coarse([best, *majorants.beside(best)])
        for one in self._best_of_kinds()[:2]:
            self._coarse(majorants.halfway(one.candidate))
        exact = [self._known[one] for one in majorants.exact if one in self._known]
        few = sorted(self._known.values(), key=self._predicted)[: settings.finalists]
        kinds = self._best_of_kinds()[: settings.kinds]
        ranked = list(dict.fromkeys([*few, *kinds, *exact]))
        finer = [self._at(one.candidate, settings.medium_work) for one in ranked]
        tried = [*zip(finer, map(_rate, finer, ranked), strict=True), *self._closed(best)]
        found = [one.candidate for one, _ in sorted(tried, key=lambda x: self._predicted(*x))]
        cut = [one for one in found if not (isinstance(one.layout, Cut) and one.layout.closed)]
        return list(dict.fromkeys([found[0], *cut[:1]]))

    def _best_of_kinds(self) -> list[Found]:
        """Coarse lattices lose more of some kinds of candidates; the best one of each."""
        ranked = sorted(self._known.values(), key=self._predicted)
        kinds = {one.candidate.kind: one for one in reversed(ranked)}
        return sorted(kinds.values(), key=self._predicted)

    def _closed(self, best: GramCandidate) -> list[tuple[Found, float]]:
        """The first closed ring whose last lattice is fine, with a tilt that has proved best.

        Without cuts the diagonal is lower, for which half the tilt may be better. None where as few
        bins are far behind when the ring is cut.
        """
        settings, known = self._settings, self._query.delta is not None
        rate = settings.closing * (settings.epsilon_rate if known else settings.delta_rate)
        limit = settings.far_behind * self._predicted(self._known[best])
        near = {
            opened(one.layout).spacing
            for one, found in self._known.items()
            if self._predicted(found) <= limit
        }
        result = []
        for tilt in (best.tilt, best.tilt / 2):
            fine = (
                ring
                for ring in self._majorants.closed(tilt)
                if ring not in self._known
                and self._affordable(ring, settings.finest_work) <= settings.closed_fineness
            )
            result += [
                (self._at(ring, settings.medium_work), rate)
                for ring in islice(fine, 1)
                if opened(ring.layout).spacing in near
            ]
        return result

    def _affordable_groups(self, one: GramCandidate) -> GramCandidate:
        """The same in more groups, until a coarse lattice is affordable."""
        settings = self._settings
        while self._affordable(one, settings.coarse_work) >= settings.too_coarse:
            shorter = self._majorants.shorter(one)
            if shorter is None:
                break
            one = shorter
        return one

    def _coarse(self, candidates: Iterable[GramCandidate | None]) -> GramCandidate:
        """The best of some candidates, all of which are kept; those too expensive are left out."""
        settings, found = self._settings, []
        for one in candidates:
            if one is not None and one not in self._known:
                fineness = max(settings.coarse, self._affordable(one, settings.coarse_work))
                exact = one in self._majorants.exact
                if self._known and fineness >= (
                    settings.coarsest if exact else settings.too_coarse
                ):
                    continue
                self._known[one] = self._evaluated(one, fineness)
            if one is not None:
                found.append(self._known[one])
        return min(found or self._known.values(), key=self._predicted).candidate

    def _predicted(self, found: Found, rate: float | None = None) -> float:
        """What a bound may become on the finest lattice that is affordable; an estimate."""
        settings = self._settings
        if rate is None:
            known = self._query.delta is not None
            rate = settings.epsilon_rate if known else settings.delta_rate
            rate *= settings.rounding if found.candidate.rounds else 1.0
        finest = self._affordable(found.candidate, settings.finest_work)
        return found.value * math.exp(rate * min(finest**2 - found.fineness**2, 0.0))

    def _affordable(self, candidate: GramCandidate, work: float) -> float:
        """The finest lattice for a part of the budget: more for the matrix itself."""
        settings = self._settings
        most = max(work * self._budget, settings.least_work)
        if candidate in self._majorants.exact:
            most = settings.exact_work * work * self._budget
        laws, tail = self._laws, self._query.tail
        return laws.affordable(candidate, self._direction, tail=tail, most=most)

    def _at(self, candidate: GramCandidate, work: float) -> Found:
        return self._evaluated(candidate, self._affordable(candidate, work))

    def _evaluated(self, candidate: GramCandidate, fineness: float) -> Found:
        """The bound on a lattice."""
        laws, direction = self._laws, self._direction
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
