"""Tests that a run's delta is not above a bound, and how to make them with few draws.

A trial computes a mean of draws in [0, largest] and passes if it is at most a threshold. If the
expectation is above `allowed`, it passes with probability at most `false_pass`: Chernoff's bound,
whatever the pilot observed. The pilot decides only where thresholds lie and from where draws come,
so that a run whose delta is below the bound passes.

Four ways to test one run, of which the cheapest is taken: draws of tuples of replicas, whose
payoffs have a proven bound close to delta, in a sequential trial (sequential.py); draws from the
run itself; draws from a proposal with a proven bound on the payoff; or draws from any good proposal
with payoffs capped, together with draws that test what exceeds the cap (draws.py). In the last one
the allowed delta is split between the two trials; a run above it is above the share of one of them,
so the chances of passing wrongly do not add up.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from hockeystick.montecarlo.concentration import draws_to_tell, relative_entropy
from hockeystick.montecarlo.draws import ROUNDING, Payoff, Sums
from hockeystick.montecarlo.pilot import DrawStatistics, Pilot
from hockeystick.montecarlo.replica_runs import replica_runs
from hockeystick.montecarlo.sequential import SequentialTrial, sequential_trial
from hockeystick.schemes.simulation import Proposal, Simulation

__all__ = ["Design", "Trial", "bounded_runs", "cheapest_design", "tightest_run"]

# Bounds below e^-600 are raised to it, which floating point can hold.
SMALLEST_LOG = -600.0


@dataclass(frozen=True)
class DesignSettings:
    """What trials are tried out. A poor choice costs draws, or a rejection, never validity."""

    # Standard errors between what the pilot observed and a threshold: a run that is as the pilot
    # observed it fails a trial with a probability of about 2e-4.
    margin: float = 3.5
    # Shares of the allowed delta for what exceeds the cap.
    excess_shares: tuple[float, ...] = (0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5)
    # Of its share, what may exceed the cap without failing: a few small payoffs do no harm.
    excess_margin: float = 0.03
    # Caps in units of the largest payoff that the pilot observed.
    caps: tuple[float, ...] = (2.0, 4.0)
    # Proposals with proven bounds: scales with the example; shifts without it, in units of what
    # moves the loss by epsilon, and the least epsilon for that unit. Bounds take no draws.
    scales: tuple[float, ...] = (1.05, 1.1, 1.2, 1.3, 1.4, 1.5, 1.7, 2.0, 2.5, 3.0)
    shifts: tuple[float, ...] = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0)
    least_epsilon: float = 0.1
    # Numbers of draws are tried in steps of 2 %, up to more than any machine makes.
    growth: float = 1.02
    most_draws: float = 1e13
    # The cost of a draw from a proposal whose density counts too, in draws of the run itself.
    weighted_cost: float = 1.5


DESIGN = DesignSettings()


def bounded_runs(run: Simulation, epsilon: float) -> Iterator[tuple[Simulation, float]]:
    """The run with proposals under which no payoff exceeds a bound below 1, and these bounds."""
    plain = replace(run, proposal=None)
    runner = plain.prepared()
    if not runner.takes_proposals:
        return
    unit = runner.shift_for(max(epsilon, DESIGN.least_epsilon))
    if unit == 0:
        return
    proposals = (
        [Proposal(scale, 0.0) for scale in DESIGN.scales]
        if plain.present
        else [Proposal(0.0, -shift * unit) for shift in DESIGN.shifts]
    )
    for proposal in proposals:
        proposed = replace(plain, proposal=proposal)
        bound = proposed.prepared().log_largest_payoff(epsilon)
        if bound < 0:
            yield proposed, math.exp(max(bound, SMALLEST_LOG))


def tightest_run(run: Simulation, epsilon: float) -> tuple[Simulation, float]:
    """The run itself, whose payoffs are at most 1, or the proposal with the smallest bound."""
    plain = (replace(run, proposal=None), 1.0)
    tuples = [
        (one, math.exp(max(bound, SMALLEST_LOG))) for one, bound in replica_runs(run, epsilon)[:1]
    ]
    return min([plain, *tuples, *bounded_runs(run, epsilon)], key=lambda choice: choice[1])


@dataclass(frozen=True)
class Trial:
    """Passes if the mean of `draws` payoffs in [0, largest] is at most `threshold`."""

    simulation: Simulation
    payoff: Payoff
    largest: float
    allowed: float
    threshold: float
    draws: int

    @property
    def cost(self) -> float:
        """In draws of the run itself; where most draws count, so does the proposal's density."""
        return self.draws * (DESIGN.weighted_cost if self.payoff.part == "capped" else 1.0)

    @property
    def expected(self) -> int:
        """All of them, unless it fails."""
        return self.draws

    def passed(self, sums: Sums) -> bool:
        """Whether the mean is at most the threshold; NaN is not."""
        mean = float(sums.totals[0, 0]) / self.draws
        return sums.draws == self.draws and mean * (1 + ROUNDING) <= self.threshold

    def settled(self, sums: Sums) -> bool:
        """Payoffs are not negative, so a sum that is too large stays so."""
        return not float(sums.totals[0, 0]) / self.draws <= self.threshold

    def mean(self, sums: Sums) -> float:
        """Of the draws that were made."""
        return float(sums.means[0, 0])

    def false_pass(self) -> float:
        """A bound on the probability of passing for an expectation above `allowed`."""
        entropy = relative_entropy(self.threshold / self.largest, self.allowed / self.largest)
        return math.exp(-self.draws * entropy)


class Design(NamedTuple):
    """Trials that test one run together; all have to pass.

    There are none where a proven bound on delta is small enough already.
    """

    trials: tuple[Trial | SequentialTrial, ...]
    proven: float | None = None

    @property
    def draws(self) -> int:
        """The most draws."""
        return sum(trial.draws for trial in self.trials)

    @property
    def cost(self) -> float:
        """In draws of the run itself."""
        return sum(trial.cost for trial in self.trials)


class _Expected(NamedTuple):
    """What is expected of draws: largest payoff, mean, relative variance, error of the mean."""

    largest: float
    mean: float
    relative_variance: float
    relative_error: float


def cheapest_design(
    pilot: Pilot, *, allowed: float, false_pass: float, change: float = 1.0
) -> Design | None:
    """The cheapest trials that a run passes if it is as the pilot observed it; None without any.

    `change` multiplies the delta that the pilot observed, for a slightly different noise.
    """
    designs = list(_designs(pilot, allowed, false_pass, change))
    return min(designs, key=lambda design: design.cost, default=None)


def _designs(pilot: Pilot, allowed: float, false_pass: float, change: float) -> Iterator[Design]:
    mean, error = pilot.mean * change, pilot.relative_error if pilot.statistics else 0.0
    whole = Payoff(pilot.epsilon)
    plain = _Expected(1.0, mean, 1 / mean if mean > 0 else 0.0, error)
    choices = [(replace(pilot.run, proposal=None), plain), *_bounded(pilot, mean, error)]
    for run, expected in choices:
        if expected.largest <= allowed:
            yield Design((), expected.largest)
        trial = _trial(run, whole, expected, allowed=allowed, false_pass=false_pass)
        if trial is not None:
            yield Design((trial,))
    for observed in pilot.statistics:
        if observed.run.replicas is not None:
            yield from _sequential_designs(observed, pilot, allowed, false_pass, change)
        if observed.run.proposal is not None:
            yield from _capped_designs(observed, pilot, allowed, false_pass, change)


def _sequential_designs(
    observed: DrawStatistics, pilot: Pilot, allowed: float, false_pass: float, change: float
) -> Iterator[Design]:
    """With the bound of the noise that was observed: a trial belongs to that noise."""
    largest = math.exp(max(observed.log_largest, SMALLEST_LOG))
    if largest <= allowed:
        yield Design((), largest)
    trial = sequential_trial(
        observed,
        pilot.epsilon,
        largest=largest,
        allowed=allowed,
        false_pass=false_pass,
        change=change,
    )
    if trial is not None:
        yield Design((trial,))


def _bounded(pilot: Pilot, mean: float, error: float) -> Iterator[tuple[Simulation, _Expected]]:
    """Proposals with a proven bound M < 1; the second moment of a payoff is at most M times delta.

    Where the bound itself is below what is allowed nothing is left to test.
    """
    for run, largest in bounded_runs(pilot.run, pilot.epsilon):
        yield run, _Expected(largest, mean, largest / mean if mean > 0 else 0.0, error)


def _capped_designs(
    observed: DrawStatistics, pilot: Pilot, allowed: float, false_pass: float, change: float
) -> Iterator[Design]:
    base, base_largest = tightest_run(pilot.run, pilot.epsilon)
    for cap in DESIGN.caps:
        limit = cap * observed.largest * change
        capped, excess = (
            Payoff(pilot.epsilon, "capped", limit),
            Payoff(pilot.epsilon, "excess", limit),
        )
        expected = _Expected(
            limit, observed.mean * change, observed.relative_variance, observed.relative_error
        )
        for share in DESIGN.excess_shares:
            main = _trial(
                observed.run,
                capped,
                expected,
                allowed=(1 - share) * allowed,
                false_pass=false_pass,
            )
            beyond = _trial(
                replace(base, reference=observed.run.proposal),
                excess,
                _Expected(base_largest, DESIGN.excess_margin * share * allowed, 0.0, 0.0),
                allowed=share * allowed,
                false_pass=false_pass,
            )
            if main is not None and beyond is not None:
                yield Design((main, beyond))


def _trial(
    run: Simulation, payoff: Payoff, expected: _Expected, *, allowed: float, false_pass: float
) -> Trial | None:
    """With as few draws as suffice; None if what is expected is too close to what is allowed."""
    if not allowed < expected.largest:
        return None
    centre = expected.mean * (1 + DESIGN.margin * expected.relative_error)

    def threshold(draws: float) -> float:
        return centre * (1 + DESIGN.margin * math.sqrt(expected.relative_variance / draws))

    def suffices(draws: float) -> bool:
        edge, bound = threshold(draws) / expected.largest, allowed / expected.largest
        return draws >= draws_to_tell(edge, bound, miss=false_pass)

    draws = 1.0
    while not suffices(draws):
        draws *= DESIGN.growth
        if draws > DESIGN.most_draws:
            return None
    count = math.ceil(draws)
    return Trial(run, payoff, expected.largest, allowed, threshold(draws), count)
