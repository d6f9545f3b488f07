"""The largest lower bound of minorants within a budget.

Independent blocks, each projected on one direction; a chain on a line; few bands. All are dominated
by the run (`order`), so the largest of their lower bounds is one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

from hockeystick._numerics.law import FloatArray, Side
from hockeystick.analyses.gram.order import floor
from hockeystick.analyses.gram.order.groups import block_shifts
from hockeystick.analyses.gram.order.moving_average import few_bands_below, two_bands
from hockeystick.analyses.gram.search import SETTINGS, GramSettings
from hockeystick.analyses.gram.search.candidates import tilts
from hockeystick.analyses.gram.search.evaluation import (
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

__all__ = ["LowerSearch", "block_lengths"]


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
