"""The searches: the smallest upper bound of majorants, the largest lower bound of minorants.

Upper: from a few layouts it goes on to whatever is best among those that differ in one choice: how
the majorant is weighted (its tilt), every how many bins are kept, in how many groups, how many bins
are left out beside cuts. All are computed at one fineness, so that what is compared is the
majorant. The best few are then computed with more work, and the best of these with most.

Lower: independent blocks, each projected on one direction; a chain on a line; few bands. All are
dominated by the run (`order`), so the largest of their lower bounds is one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cached_property

from hockeystick._numerics.law import FloatArray, Side
from hockeystick.analyses.gram.law.reading import LawReading
from hockeystick.analyses.gram.order import floor
from hockeystick.analyses.gram.order.groups import block_shifts
from hockeystick.analyses.gram.order.moving_average import few_bands_below, two_bands
from hockeystick.analyses.gram.search import SETTINGS, GramSettings
from hockeystick.analyses.gram.search.candidates import Majorants, tilts
from hockeystick.analyses.gram.search.evaluation import (
    Found,
    GramCandidate,
    GramQuery,
    LawCache,
    banded,
    chained,
)
from hockeystick.analyses.gram.search.programmes import best_minorant
from hockeystick.profile import Profile
from hockeystick.profile.expressions.mechanisms import random_shift
from hockeystick.profile.resolution import Direction

__all__ = ["LowerSearch", "UpperSearch", "block_lengths"]


# Lattices that are closer to each other tell no rate.
FARTHEST_TO_COMPARE = 0.75


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
        """Climbs from the best layout, then computes the best few, and the best of these."""
        settings, majorants = self._search.settings, self._search.majorants
        best = self._coarse(map(self._affordable_groups, majorants.first))
        self._coarse(majorants.exact)
        before = None
        while best is not before:
            before, best = best, self._coarse([best, *majorants.beside(best)])
        best = self._coarse([best, *majorants.halfway(best)])
        ranked = sorted(self._known.values(), key=self._predicted)
        # Coarse lattices lose more of some kinds, and of the matrix itself they show least.
        kinds = {one.candidate.kind: one for one in reversed(ranked)}
        others = sorted(kinds.values(), key=self._predicted)
        exact = [one for one in ranked if one.candidate in majorants.exact]
        few = settings.finalists
        ranked = list(dict.fromkeys([*ranked[:few], *others[:few], *exact]))
        finer = [self._at(one.candidate, settings.medium_work) for one in ranked]
        tried = [*zip(finer, map(_rate, finer, ranked), strict=True), *self._closed(best)]
        best = min(tried, key=lambda x: self._predicted(*x))[0].candidate
        return min((*finer, self._at(best, settings.finest_work)), key=_value)

    def _closed(self, best: GramCandidate) -> list[tuple[Found, float]]:
        """The first closed ring whose last lattice is fine, with a tilt that has proved best."""
        settings, known = self._search.settings, self._query.delta is not None
        rate = settings.closing * (settings.epsilon_rate if known else settings.delta_rate)
        for one in self._search.majorants.closed(best.tilt):
            fineness = self._affordable(one, settings.finest_work)
            if one not in self._known and fineness <= settings.closed_fineness:
                return [(self._at(one, settings.medium_work), rate)]
        return []

    def _affordable_groups(self, one: GramCandidate) -> GramCandidate:
        """The same in more groups, until a coarse lattice is affordable."""
        settings = self._search.settings
        while self._affordable(one, settings.coarse_work) >= settings.too_coarse:
            shorter = self._search.majorants.shorter(one)
            if shorter is None:
                break
            one = shorter
        return one

    def _coarse(self, candidates: Iterable[GramCandidate | None]) -> GramCandidate:
        """The best of some candidates, all of which are kept; those too expensive are left out."""
        settings, found = self._search.settings, []
        for one in candidates:
            if one is not None and one not in self._known:
                fineness = max(settings.coarse, self._affordable(one, settings.coarse_work))
                exact = one in self._search.majorants.exact
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
        settings = self._search.settings
        if rate is None:
            known = self._query.delta is not None
            rate = settings.epsilon_rate if known else settings.delta_rate
            rate *= settings.rounding if found.candidate.rounds else 1.0
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


class LowerSearch:
    """The largest lower bound; `most_work` is what one law may take, in operations."""

    def __init__(
        self, kernel: FloatArray, most_work: float, settings: GramSettings = SETTINGS
    ) -> None:
        self._kernel = kernel
        self._most_work = most_work
        self._settings = settings
        self._laws = LawCache(settings)
        self._profiles: dict[int, Profile] = {}

    def best(self, query: GramQuery, directions: Sequence[Direction]) -> float:
        """Blocks are quick, and tell which direction the others are computed for."""
        found = {direction: self._of_blocks(query, direction) for direction in directions}
        worst = max(found, key=lambda direction: found[direction])
        return max(found[worst], self._of_bands(query, worst), self._of_chains(query, worst))

    def _of_chains(self, query: GramQuery, direction: Direction) -> float:
        """The one that is best on a coarse lattice; none where the matrix itself has two bands."""
        if self._two_bands or not self._chains:
            return 0.0
        coarse = self._settings.choice_work * self._most_work
        best = max(self._chains, key=lambda one: self._bound(query, direction, one, coarse))
        return self._bound(query, direction, best, self._most_work)

    def _of_bands(self, query: GramQuery, direction: Direction) -> float:
        """From what is nearest to the matrix itself."""
        found = [self._bound(query, direction, one, self._most_work) for one in self._two_bands]
        if self._few_bands is not None:
            work = self._settings.band_work * self._most_work
            found.append(self._bound(query, direction, self._few_bands, work))
        return max(found, default=0.0)

    def _bound(
        self, query: GramQuery, direction: Direction, candidate: GramCandidate, most: float
    ) -> float:
        """On the finest lattice that is affordable; 0 if there is none."""
        side, tail = Side.LOWER, query.tail
        fineness = self._laws.affordable(candidate, direction, most=most, side=side, tail=tail)
        if fineness >= self._settings.coarsest:
            return 0.0
        reading = self._laws.reading(candidate, direction, fineness=fineness, side=side, tail=tail)
        return query.read(reading)

    @cached_property
    def _two_bands(self) -> list[GramCandidate]:
        """A ring takes many runs, and may be cut open."""
        exact = two_bands(self._kernel)
        if exact is None:
            return []
        below = exact[1]
        opened = [below, below.cut_open()] if below.ring else [below]
        return [banded("two bands", one) for one in opened]

    @cached_property
    def _few_bands(self) -> GramCandidate | None:
        if self._two_bands:
            return None
        below = few_bands_below(self._kernel, self._settings.most_bands)
        return None if below is None else banded("few bands", below)

    @cached_property
    def _chains(self) -> list[GramCandidate]:
        lowest, settings = floor(self._kernel), self._settings
        wanted = tilts(float(self._kernel.max()), settings)
        found = [best_minorant(lowest, one, settings) for one in wanted]
        # Where all bins share everything one direction is enough: that is a block.
        return [chained("minorant", one) for one in found if one.signal > 0]

    def _of_blocks(self, query: GramQuery, direction: Direction) -> float:
        """From single bins, which are independent then, to all of them along one direction.

        Entries between blocks are left out, which is a smaller matrix unless some are negative.
        """
        bins = self._kernel.shape[0]
        if self._kernel.min() < 0:
            return 0.0

        def bound(length: int) -> float:
            accuracy = self._settings.profile_accuracy
            return query.bounds_of(self._profile(length), (direction,), accuracy).lower

        best = max(block_lengths(bins), key=bound)
        beside = {min(max(round(factor * best), 1), bins) for factor in self._settings.beside}
        return max(map(bound, (best, *beside)))

    def _profile(self, length: int) -> Profile:
        """The profile of blocks of one length: random allocation of a one-dimensional mixture."""
        if length not in self._profiles:
            shifts, blocks, share = block_shifts(self._kernel, length)
            one = random_shift(shifts.tolist(), [1 / length] * length)
            self._profiles[length] = Profile(one.allocate(blocks).subsample(share))
        return self._profiles[length]


def block_lengths(bins: int) -> list[int]:
    """Powers of two, and all bins."""
    return [*(2**i for i in range(math.ceil(math.log2(bins)))), bins]
