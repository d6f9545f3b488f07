"""Lower bounds on a mixture over bins: smaller Gram matrices, and projections."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from hockeystick._numerics.gram_order import best_minorant
from hockeystick._numerics.lag_bounds import floor
from hockeystick._numerics.law import FloatArray, Side
from hockeystick.analyses.gram_candidates import Candidate
from hockeystick.analyses.gram_question import Question
from hockeystick.evaluation import Direction
from hockeystick.expressions.gaussian import Gaussian
from hockeystick.expressions.shifts import random_shift
from hockeystick.profile import Profile

__all__ = ["GramBelow"]


class GramBelow:
    """A Markov chain on a line, what one direction in space shows alone, and the diagonal alone."""

    def __init__(self, kernel: FloatArray, most_work: float) -> None:
        self._kernel = kernel
        self._most_work = most_work

    def number(self, question: Question, direction: Direction) -> float:
        """The largest of the three."""
        fineness = self._minorant.affordable(direction, tail=question.tail, most=self._most_work)
        reading = self._minorant.reading(
            direction, side=Side.LOWER, fineness=fineness, tail=question.tail
        )
        return max(
            question.read(reading),
            *(question.bounds_of(one, (direction,)).lower for one in self._simple),
        )

    @cached_property
    def _minorant(self) -> Candidate:
        return Candidate("minorant", best_minorant(floor(self._kernel), 1.0, 1.0))

    @cached_property
    def _simple(self) -> list[Profile]:
        """Of the mean of all m_i as a direction; and with the smallest length for all."""
        rows = self._kernel.sum(axis=1)
        bins = rows.size
        shifts = np.maximum(rows / math.sqrt(float(rows.sum())), 0.0)
        length = math.sqrt(float(np.diagonal(self._kernel).min()))
        return [
            Profile(random_shift(shifts.tolist(), [1 / bins] * bins)),
            Profile(Gaussian(length).allocate(bins)),
        ]
