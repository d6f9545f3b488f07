"""Tests that a run's delta is not above a bound, and how to make them with few draws.

A trial looks at a mean of draws in [0, range] and passes if it is at most a threshold. If the
expectation is above `allowed`, it passes with probability at most `miss`: Chernoff's bound,
whatever the pilot saw. The pilot decides only where thresholds lie and from where draws come, so
that a run whose delta is below the bound passes.

Three ways to test one run, of which the cheapest is taken: draws from the run itself; draws from a
proposal with a proven bound on the payoff; or draws from any good proposal with payoffs capped,
together with draws that test what exceeds the cap (payoff.py). In the last one the allowed delta is
split between the two trials; a run above it is above the share of one of them, so the chances of
passing wrongly do not add up.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from hockeystick.montecarlo.bounded import bounded_runs, tightest_run
from hockeystick.montecarlo.concentration import draws_to_tell, relative_entropy
from hockeystick.montecarlo.payoff import Payoff
from hockeystick.montecarlo.pilot import Pilot, Sighting
from hockeystick.schemes.simulation import Simulation

__all__ = ["Design", "Trial", "cheapest_design"]

# Standard errors between what the pilot saw and a threshold.
MARGIN = 3.5
# Shares of the allowed delta for what exceeds the cap, and caps in units of the largest draw seen.
EXCESS_SHARES = (0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5)
CAPS = (2.0, 4.0)
# Of its share, what may exceed the cap without failing: a few small payoffs do no harm.
EXCESS_MARGIN = 0.03
# Draws of one trial.
MOST_DRAWS = 1e13


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
        return self.draws * (1.5 if self.payoff.part == "capped" else 1.0)

    def false_pass(self) -> float:
        """A bound on the probability of passing for an expectation above `allowed`."""
        entropy = relative_entropy(self.threshold / self.largest, self.allowed / self.largest)
        return math.exp(-self.draws * entropy)


class Design(NamedTuple):
    """Trials that test one run together; all have to pass.

    There are none where a proven bound on delta is small enough already.
    """

    trials: tuple[Trial, ...]
    proven: float | None = None

    @property
    def draws(self) -> int:
        """All draws."""
        return sum(trial.draws for trial in self.trials)

    @property
    def cost(self) -> float:
        """In draws of the run itself."""
        return sum(trial.cost for trial in self.trials)


class _Expected(NamedTuple):
    """What draws are expected to look like: largest payoff, mean, relative variance, its error."""

    largest: float
    mean: float
    relative_variance: float
    relative_error: float


def cheapest_design(
    pilot: Pilot, *, allowed: float, miss: float, change: float = 1.0
) -> Design | None:
    """The cheapest trials that a run passes if it is as the pilot saw it; None if there are none.

    `change` multiplies the delta that the pilot saw, to ask about a slightly different noise.
    """
    designs = list(_designs(pilot, allowed, miss, change))
    return min(designs, key=lambda design: design.cost, default=None)


def _designs(pilot: Pilot, allowed: float, miss: float, change: float) -> Iterator[Design]:
    seen, error = pilot.mean * change, pilot.relative_error if pilot.sightings else 0.0
    whole = Payoff(pilot.epsilon)
    plain = _Expected(1.0, seen, 1 / seen if seen > 0 else 0.0, error)
    choices = [(replace(pilot.run, proposal=None), plain), *_bounded(pilot, seen, error)]
    for run, expected in choices:
        if expected.largest <= allowed:
            yield Design((), expected.largest)
        trial = _trial(run, whole, expected, allowed=allowed, miss=miss)
        if trial is not None:
            yield Design((trial,))
    for sighting in pilot.sightings:
        if sighting.run.proposal is not None:
            yield from _capped_designs(sighting, pilot, allowed, miss, change)


def _bounded(pilot: Pilot, seen: float, error: float) -> Iterator[tuple[Simulation, _Expected]]:
    """Proposals with a proven bound M < 1; the second moment of a payoff is at most M times delta.

    Where the bound itself is below what is allowed nothing is left to test.
    """
    for run, largest in bounded_runs(pilot.run, pilot.epsilon):
        yield run, _Expected(largest, seen, largest / seen if seen > 0 else 0.0, error)


def _capped_designs(
    sighting: Sighting, pilot: Pilot, allowed: float, miss: float, change: float
) -> Iterator[Design]:
    base, base_largest = tightest_run(pilot.run, pilot.epsilon)
    for cap in CAPS:
        limit = cap * sighting.largest * change
        capped, excess = (
            Payoff(pilot.epsilon, "capped", limit),
            Payoff(pilot.epsilon, "excess", limit),
        )
        expected = _Expected(
            limit, sighting.mean * change, sighting.relative_variance, sighting.relative_error
        )
        for share in EXCESS_SHARES:
            main = _trial(sighting.run, capped, expected, allowed=(1 - share) * allowed, miss=miss)
            rest = _trial(
                replace(base, reference=sighting.run.proposal),
                excess,
                _Expected(base_largest, EXCESS_MARGIN * share * allowed, 0.0, 0.0),
                allowed=share * allowed,
                miss=miss,
            )
            if main is not None and rest is not None:
                yield Design((main, rest))


def _trial(
    run: Simulation, payoff: Payoff, expected: _Expected, *, allowed: float, miss: float
) -> Trial | None:
    """With as few draws as suffice; None if what is expected is too close to what is allowed."""
    if not allowed < expected.largest:
        return None
    centre = expected.mean * (1 + MARGIN * expected.relative_error)

    def threshold(draws: float) -> float:
        return centre * (1 + MARGIN * math.sqrt(expected.relative_variance / draws))

    def suffices(draws: float) -> bool:
        edge, bound = threshold(draws) / expected.largest, allowed / expected.largest
        return draws >= draws_to_tell(edge, bound, miss=miss)

    draws = 1.0
    while not suffices(draws):
        draws *= 1.02
        if draws > MOST_DRAWS:
            return None
    count = math.ceil(draws)
    return Trial(run, payoff, expected.largest, allowed, threshold(draws), count)
