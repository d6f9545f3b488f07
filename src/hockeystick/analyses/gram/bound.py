"""Bounds from mixtures with Markov structure above and below a mixture over bins.

One search for a majorant serves both directions, and every request of a plan: laws that were
computed are kept.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from hockeystick._numerics.law import FloatArray, Side
from hockeystick.analyses.gram.lower import GramBelow
from hockeystick.analyses.gram.search.question import Found, Question
from hockeystick.analyses.gram.search.search import GramSearch, no_worse
from hockeystick.analyses.gram.search.targets import candidates
from hockeystick.bounds.bound import Bound, UpperBound
from hockeystick.bounds.delta_curve import DeltaCurve, profile_of_deltas
from hockeystick.profile import Profile
from hockeystick.profile.expressions.mechanisms import Gaussian
from hockeystick.profile.refinement import Direction

__all__ = ["GramBound"]

# A budget is for so many bins; more get more, up to a multiple. A bound from below gets a part.
PLAIN_BINS, MOST_OF_BUDGET, LOWER_WORK = 100, 5.0, 0.5
# Tails that are cut, relative to delta.
TAIL, FIRST_TAILS = 1e-6, (1e-12, 1e-20, 1e-40, 1e-80, 1e-160)
# Where the participation of the example can hardly be hidden, its bin may as well be known.
LARGEST_SIGNAL = 150.0
# The profile: its smallest delta, corners on either side, and the deltas it is made for.
SMALLEST_DELTA, CORNERS, PROFILE_DELTAS = 1e-20, 300, (1e-3, 1e-6, 1e-12)
PROFILE_ACCURACY = 0.01
# How a bound from the longest mean alone is called.
KNOWN_BIN = "known bin"


class GramBound(Bound):
    """Both directions, upper and lower, of a uniform mixture of Gaussians with the given kernel."""

    def __init__(self, kernel: FloatArray, budget: float) -> None:
        self._kernel = kernel
        self._budget = budget * min(max(1.0, kernel.shape[0] / PLAIN_BINS), MOST_OF_BUDGET)

    def epsilon(
        self, delta: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """From the best majorant for this delta."""
        return self._answer(Question(delta, None, TAIL * delta), directions, accuracy)

    def delta(
        self, epsilon: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """From the best majorant for this epsilon."""
        for tail in FIRST_TAILS:
            found = self._answer(Question(None, epsilon, tail), directions, accuracy)
            if tail <= 10 * TAIL * found.value:
                break
        return found

    def as_profile(self) -> Profile:
        """The convex envelope of the bounds at many epsilons, in both directions."""
        if self._is_loud:
            return self._known_bin
        return profile_of_deltas(self._delta_curve("remove"), self._delta_curve("add"))

    def _answer(
        self, question: Question, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """The worst direction; one that is below another already is not looked at closely.

        Never above what is known if the bin were revealed.
        """
        known = question.bounds_of(self._known_bin, directions).upper
        if self._is_loud:
            return UpperBound(known, details={"majorant": KNOWN_BIN}, find_lower=lambda: 0.0)

        def lower() -> float:
            tail = question.tail if question.delta is not None else FIRST_TAILS[1]
            return self._below.number(question._replace(tail=tail), directions)

        worst: Found | None = None
        for direction in directions:
            found = None if worst is None else no_worse(question, direction, worst)
            if found is None:
                found = self._search.best(question, direction, accuracy)
            worst = found if worst is None else max(worst, found, key=lambda one: one.value)
        assert worst is not None
        if worst.value > known:
            return UpperBound(known, details={"majorant": KNOWN_BIN}, find_lower=lower)
        return UpperBound(worst.value, worst.direction, _details(worst), lower)

    @cached_property
    def _known_bin(self) -> Profile:
        """The Gaussian mechanism of the longest mean: dominates whichever bin it is."""
        return Profile(Gaussian(math.sqrt(float(np.diagonal(self._kernel).max()))))

    @property
    def _is_loud(self) -> bool:
        """Whether lattices would leave floating point."""
        return float(self._kernel.max()) > LARGEST_SIGNAL

    @cached_property
    def _search(self) -> GramSearch:
        return GramSearch(candidates(self._kernel), self._budget)

    @cached_property
    def _below(self) -> GramBelow:
        return GramBelow(self._kernel, LOWER_WORK * self._budget)

    def _delta_curve(self, direction: Direction) -> DeltaCurve:
        """The smallest bounds of the majorants that are best at a few deltas."""
        readings = []
        for wanted in PROFILE_DELTAS:
            question = Question(wanted, None, TAIL * SMALLEST_DELTA)
            found = self._search.best(question, direction, PROFILE_ACCURACY)
            readings.append(
                found.candidate.reading(
                    direction, side=Side.UPPER, fineness=found.fineness, tail=question.tail
                )
            )
        (known, ends) = self._known_bin, [one.epsilon(SMALLEST_DELTA) for one in readings]
        asked: Sequence[Direction] = (direction,)
        last = known.epsilon_bounds(SMALLEST_DELTA, directions=asked, accuracy=PROFILE_ACCURACY)
        loss = np.linspace(0.0, max(min(*ends, last.upper), 1e-3), CORNERS)
        delta = [
            min(
                known.delta_bounds(at, directions=asked, accuracy=PROFILE_ACCURACY).upper,
                *(one.delta(at) for one in readings),
            )
            for at in loss.tolist()
        ]
        return loss, np.array(delta)


def _details(found: Found) -> dict[str, object]:
    """The majorant that decided."""
    mixture = found.candidate.mixture
    return {
        "majorant": found.candidate.name,
        **mixture.memory,
        "common": mixture.common,
        "fineness": found.fineness,
    }
