"""The law of participation of one user alone under participation-based exclusion.

For a user alone the printed recursion of [DongGanesh26] is exact: draws while excluded have no
effect. Numbers are labelled as the paper's Conjecture 6.2 has them, conjectured; with shared
examples the conjecture is false, and nothing is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick.schemes.simulation.columns import Trajectories
from hockeystick.schemes.user_min_sep.participation import (
    binomial_weights,
    copy_log_terms,
    copy_terms,
    log_or_minus_infinity,
)

__all__ = ["ConjecturedLaw", "conjectured_law"]


@dataclass(frozen=True, eq=False)
class ConjecturedLaw:
    """`copies` are the probabilities of 0, 1, ... examples being drawn in a step.

    `starts` are the probabilities of being eligible from step 0, 1, ..., separation - 1 on.
    """

    copies: FloatArray
    starts: FloatArray
    steps: int

    @property
    def log_staying_out(self) -> float:
        """Of never being drawn."""
        return self.steps * log_or_minus_infinity(self.copies[0])

    @property
    def expected(self) -> FloatArray:
        """Copies of an average draw, times the probability of being eligible."""
        return self._eligible * float(np.arange(self.copies.size) @ self.copies)

    @property
    def expected_squares(self) -> FloatArray:
        """Squared copies of an average draw, times the probability of being eligible."""
        return self._eligible * float(np.arange(self.copies.size) ** 2 @ self.copies)

    @cached_property
    def _eligible(self) -> FloatArray:
        from hockeystick.schemes.simulation.participation_kernels import min_sep_eligible

        return min_sep_eligible(1 - self.copies[0], self.starts, self.steps)

    def weighted(self, log_weights: FloatArray) -> None:
        """Draws are not weighted."""

    def trajectories(self, draws: int, rng: np.random.Generator) -> Trajectories:
        """At most one participating step in each window of the separation."""
        from hockeystick.schemes.simulation.draw_kernels import min_sep_trajectories

        room = -(-self.steps // self.starts.size)
        where = np.zeros((draws, room), dtype=np.int64)
        number = np.zeros(draws, dtype=np.int64)
        chances = np.full(self.steps, 1 - self.copies[0])
        min_sep_trajectories(rng, chances, np.cumsum(self.starts), where, number)
        some = np.cumsum(self.copies[1:])
        times = 1 + np.searchsorted(some, rng.random(where.shape) * some[-1], side="right")
        return Trajectories(where, np.minimum(times, some.size), number)

    def plain(self, factors: FloatArray, half: FloatArray) -> FloatArray:
        """log LR from the factors of a single example."""
        from hockeystick.schemes.simulation.participation_kernels import min_sep_ratios

        losses = np.empty(factors.shape[0])
        terms = copy_terms(factors, self.copies, half)
        min_sep_ratios(terms, 1.0, self.copies[0], self.starts, losses)
        return losses

    def logarithmic(self, exponents: FloatArray, half: FloatArray) -> FloatArray:
        """log LR from the exponents of a single example."""
        from hockeystick.schemes.simulation.participation_kernels import min_sep_logs

        losses = np.empty(exponents.shape[0])
        terms = copy_log_terms(exponents, self.copies, half)
        with np.errstate(divide="ignore"):
            log_starts = np.log(self.starts)
        min_sep_logs(terms, log_or_minus_infinity(self.copies[0]), log_starts, losses)
        return losses


def conjectured_law(
    steps: int, *, held: int, rate: float, separation: int, warm_up: int
) -> ConjecturedLaw:
    """The law for a user with `held` examples."""
    copies = binomial_weights(held, rate)
    return ConjecturedLaw(copies, _starts(1 - copies[0], separation, warm_up), steps)


def _starts(chance: float, separation: int, warm_up: int) -> FloatArray:
    """From when on a user is eligible after a warm-up, by the renewal equation."""
    eligible = np.zeros(warm_up + 1)
    eligible[0] = 1.0
    for t in range(warm_up):
        back = eligible[t + 1 - separation] if t + 1 >= separation else 0.0
        eligible[t + 1] = (1 - chance) * eligible[t] + chance * back
    starts = np.zeros(separation)
    starts[0] = eligible[warm_up]
    for later in range(1, separation):
        joined = warm_up - separation + later
        starts[later] = chance * eligible[joined] if joined >= 0 else 0.0
    return starts
