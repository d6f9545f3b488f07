"""Lower bounds on a mixture over bins: smaller Gram matrices, and projections."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from hockeystick._numerics.law import FloatArray, Side
from hockeystick.analyses.gram.law.block_shifts import block_lengths, block_shifts
from hockeystick.analyses.gram.order.lag_bounds import floor
from hockeystick.analyses.gram.order.majorants import best_minorant
from hockeystick.analyses.gram.order.moving_average import few_bands_below, two_bands
from hockeystick.analyses.gram.search.candidates import COARSEST, MOVING, Candidate
from hockeystick.analyses.gram.search.question import Question
from hockeystick.analyses.gram.search.targets import boldnesses, rounded_parts
from hockeystick.profile import Profile
from hockeystick.profile.expressions.mechanisms import random_shift
from hockeystick.profile.refinement import Direction

__all__ = ["GramBelow"]

# Which chain is the best is seen on a lattice with this part of the work.
COARSE_WORK = 0.1
# States of so many bands at most are looked at, with this multiple of the work.
MOST_BANDS, WORK_OF_BANDS = 4, 4.0
# Lengths of blocks beside the best power of two.
BESIDE = (0.75, 1.5)


class GramBelow:
    """Independent blocks, each seen in one direction; a chain on a line; and few bands."""

    def __init__(self, kernel: FloatArray, most_work: float) -> None:
        self._kernel = kernel
        self._most_work = most_work
        self._blocks: dict[int, Profile] = {}

    def number(self, question: Question, directions: Sequence[Direction]) -> float:
        """The largest one; blocks are quick, and tell which direction is worth a closer look."""
        found = {direction: self._of_blocks(question, direction) for direction in directions}
        worst = max(found, key=lambda direction: found[direction])
        return max(found[worst], self._of_bands(question, worst), self._of_chains(question, worst))

    def _of_chains(self, question: Question, direction: Direction) -> float:
        """The one that is best on a coarse lattice; none where the matrix itself has two bands."""
        if self._two_bands:
            return 0.0
        coarse = COARSE_WORK * self._most_work
        best = max(self._chains, key=lambda one: self._read(question, direction, one, coarse))
        return self._read(question, direction, best, self._most_work)

    def _of_bands(self, question: Question, direction: Direction) -> float:
        """Of what is nearest to the matrix itself."""
        found = [self._read(question, direction, one, self._most_work) for one in self._two_bands]
        if self._few_bands is not None:
            work = WORK_OF_BANDS * self._most_work
            found.append(self._read(question, direction, self._few_bands, work))
        return max(found, default=0.0)

    def _read(
        self, question: Question, direction: Direction, candidate: Candidate, most: float
    ) -> float:
        asked: dict[str, Any] = {"side": Side.LOWER, "tail": question.tail}
        fineness = candidate.affordable(direction, most=most, **asked)
        if fineness >= COARSEST:
            return 0.0
        return question.read(candidate.reading(direction, fineness=fineness, **asked))

    @cached_property
    def _two_bands(self) -> list[Candidate]:
        """A ring takes many runs, and may be cut open."""
        exact = two_bands(self._kernel)
        if exact is None:
            return []
        below = exact[1]
        opened = [below, below.cut_open()] if below.ring else [below]
        return [Candidate("two bands", one, MOVING) for one in opened]

    @cached_property
    def _few_bands(self) -> Candidate | None:
        below = None if self._two_bands else few_bands_below(self._kernel, MOST_BANDS)
        return None if below is None else Candidate("few bands", below, MOVING)

    @cached_property
    def _chains(self) -> list[Candidate]:
        lowest = floor(self._kernel)
        chains = [best_minorant(lowest, 1.0, one) for one in boldnesses(self._kernel)]
        different = {rounded_parts(one, lowest): one for one in chains}
        return [Candidate("minorant", one) for one in different.values()]

    def _of_blocks(self, question: Question, direction: Direction) -> float:
        """From single bins, which are independent then, to all of them along one direction.

        Entries between blocks are left out, which is a smaller matrix unless some are negative.
        """
        bins = self._kernel.shape[0]
        if self._kernel.min() < 0:
            return 0.0

        def number(length: int) -> float:
            return question.bounds_of(self._block_profile(length), (direction,)).lower

        best = max(block_lengths(bins), key=number)
        beside = {min(max(round(factor * best), 1), bins) for factor in BESIDE}
        return max(map(number, (best, *beside)))

    def _block_profile(self, length: int) -> Profile:
        if length not in self._blocks:
            shifts, blocks, share = block_shifts(self._kernel, length)
            one = random_shift(shifts.tolist(), [1 / length] * length)
            self._blocks[length] = Profile(one.allocate(blocks).subsample(share))
        return self._blocks[length]
