"""Lower bounds on a mixture over bins: smaller Gram matrices, and projections."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from hockeystick._numerics.gram_order import best_minorant
from hockeystick._numerics.lag_bounds import floor
from hockeystick._numerics.law import FloatArray, Side
from hockeystick._numerics.moving_average import two_bands
from hockeystick.analyses.gram_candidates import MOVING, Candidate
from hockeystick.analyses.gram_question import Question
from hockeystick.evaluation import Direction
from hockeystick.expressions.gaussian import Gaussian
from hockeystick.expressions.shifts import random_shift
from hockeystick.profile import Profile

__all__ = ["GramBelow"]


class GramBelow:
    """A chain on a line, or two bands; one direction in space; and the diagonal alone."""

    def __init__(self, kernel: FloatArray, most_work: float) -> None:
        self._kernel = kernel
        self._most_work = most_work

    def number(self, question: Question, direction: Direction) -> float:
        """The largest of them."""
        return max(
            *(self._read(question, direction, one) for one in self._minorants),
            *(question.bounds_of(one, (direction,)).lower for one in self._simple),
        )

    def _read(self, question: Question, direction: Direction, candidate: Candidate) -> float:
        asked: dict[str, Any] = {"side": Side.LOWER, "tail": question.tail}
        fineness = candidate.affordable(direction, most=self._most_work, **asked)
        return question.read(candidate.reading(direction, fineness=fineness, **asked))

    @cached_property
    def _minorants(self) -> list[Candidate]:
        """The matrix itself if it has two bands; a ring takes many runs, and may be cut open."""
        exact = two_bands(self._kernel)
        if exact is None:
            return [Candidate("minorant", best_minorant(floor(self._kernel), 1.0, 1.0))]
        below = exact[1]
        opened = [below, below.cut_open()] if below.ring else [below]
        return [Candidate("two bands", one, MOVING) for one in opened]

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
