"""A trial that may stop after any number of draws, when the evidence suffices.

For payoffs Z in [0, M] with an expectation of at least `allowed` and 0 <= s <= 1/(M - allowed) the
product of 1 + s (allowed - Z) over independent draws is a non-negative supermartingale that starts
at 1. By Ville's inequality [Ville39] it ever reaches 1/q with probability at most q: a run whose
delta is above `allowed` passes with at most this probability, however often it is evaluated and
whenever the draws end. The pilot chooses s and when to give up; both may be poor without harm.

For a run that is as the pilot observed it the logarithm grows by about (allowed - m)^2 / 2E(allowed
- Z)^2 a draw, which is never slower than what E Z^2 <= M m allows, and much faster where payoffs
vary little: the bound M is needed for validity alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from hockeystick.montecarlo.draws import ROUNDING, Payoff, Sums
from hockeystick.montecarlo.pilot import DrawStatistics
from hockeystick.schemes.simulation import Simulation

__all__ = ["SEQUENTIAL", "SequentialSettings", "SequentialTrial", "sequential_trial"]


@dataclass(frozen=True)
class SequentialSettings:
    """How a sequential trial is placed. A poor choice costs draws, or a rejection."""

    # Standard errors of the pilot's mean that are allowed for.
    margin: float = 2.0
    # The largest s, in units of 1/(M - allowed): far below it, 1 + s (allowed - Z) has no factors
    # close to 0.
    largest_stake: float = 0.5
    # It ends without passing after so many times the expected draws (a run as the pilot observed it
    # needs more with a probability of about 1e-3), or once the logarithm has fallen so far.
    patience: float = 3.0
    lowest: float = -8.0
    # The cost of a draw of replicas, in draws of the run itself.
    cost: float = 1.5
    # More draws than any machine makes.
    most_draws: float = 1e13


SEQUENTIAL = SequentialSettings()


@dataclass(frozen=True)
class SequentialTrial:
    """Passes as soon as the supermartingale reaches 1 / false_acceptance.

    `threshold` is the mean for which it is placed, `expected` the draws that it is likely to take,
    `draws` the most that it makes.
    """

    simulation: Simulation
    payoff: Payoff
    largest: float
    allowed: float
    threshold: float
    expected: int
    draws: int
    false_acceptance: float

    @property
    def cost(self) -> float:
        """In draws of the run itself."""
        return SEQUENTIAL.cost * self.expected

    def false_pass(self) -> float:
        """A bound on the probability of passing for an expectation above `allowed`."""
        return self.false_acceptance

    def passed(self, sums: Sums) -> bool:
        """Whether the evidence suffices; NaN does not."""
        return self._log_evidence(sums) >= math.log(1 / self.false_acceptance)

    def settled(self, sums: Sums) -> bool:
        """Whether more draws would be of no use."""
        evidence = self._log_evidence(sums)
        return self.passed(sums) or not evidence > SEQUENTIAL.lowest

    def mean(self, sums: Sums) -> float:
        """The payoff that every draw would have had to have for this evidence."""
        each = float(sums.totals[0, 0]) / sums.draws
        stake = self.payoff.stake
        return -math.expm1(-each) * (1 + stake * self.allowed) / stake

    def _log_evidence(self, sums: Sums) -> float:
        """The sum of log(1 + s (allowed - Z)): payoffs are log(1 + s allowed) less each of them.

        Both sums are rounded to the side on which there is less evidence.
        """
        gained = sums.draws * math.log1p(self.payoff.stake * self.allowed)
        return gained * (1 - ROUNDING) - float(sums.totals[0, 0]) * (1 + ROUNDING)


def sequential_trial(
    observed: DrawStatistics,
    epsilon: float,
    *,
    largest: float,
    allowed: float,
    false_pass: float,
    change: float,
) -> SequentialTrial | None:
    """None if what is expected is too close to what is allowed.

    `change` multiplies the delta that the pilot observed.
    """
    mean = observed.mean * change * (1 + SEQUENTIAL.margin * observed.relative_error)
    if not (0 < mean < allowed < largest):
        return None
    spread = observed.relative_variance * mean**2 + (allowed - mean) ** 2
    stake = min((allowed - mean) / spread, SEQUENTIAL.largest_stake / (largest - allowed))
    growth = stake * (allowed - mean) - stake**2 * spread / 2
    expected = math.log(1 / false_pass) / growth
    if not expected < SEQUENTIAL.most_draws:
        return None
    return SequentialTrial(
        observed.run,
        Payoff(epsilon, "sequential", allowed, stake),
        largest,
        allowed,
        mean,
        math.ceil(expected),
        math.ceil(SEQUENTIAL.patience * expected),
        false_pass,
    )
