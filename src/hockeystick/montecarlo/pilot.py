"""A first look at a run: roughly how large delta is, and from where to draw.

Nothing here is a claim. Pilots have randomness of their own, so what they find may be used to place
thresholds and to choose proposals for draws that come after.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from hockeystick.montecarlo.drawing import Drawer
from hockeystick.montecarlo.payoff import Payoff
from hockeystick.montecarlo.work import Job
from hockeystick.schemes.simulation import Proposal, Simulation

__all__ = ["Pilot", "Pilots", "Sighting"]

# Proposals are tried with a few draws each; the best few with more, the best with most.
FIRST, SECOND, LAST, BEST = 500, 4_000, 40_000, 4
# Scales and shifts that are tried; shifts are in units of what moves the loss by epsilon.
SCALES = (1.0, 1.5, 2.0, 3.0)
SHIFTS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
SHIFTS_WITHOUT = (0.2, 0.4, 0.6, 0.8, 1.0, 1.2)
# Squares of smaller means are lost to underflow; such a delta counts as not seen.
SMALLEST_MEAN = 1e-140


class Sighting(NamedTuple):
    """What draws from one proposal looked like; `relative_variance` is of a single draw."""

    run: Simulation
    mean: float
    relative_variance: float
    largest: float
    draws: int

    @property
    def relative_error(self) -> float:
        """The standard error of the mean over the mean."""
        return math.sqrt(self.relative_variance / self.draws) if self.mean > 0 else math.inf


@dataclass(frozen=True)
class Pilot:
    """What was seen of one run at one epsilon: the best proposal first."""

    run: Simulation
    epsilon: float
    sightings: tuple[Sighting, ...]
    draws: int

    @property
    def mean(self) -> float:
        """An estimate of delta; 0 if nothing was seen."""
        return self.sightings[0].mean if self.sightings else 0.0

    @property
    def relative_error(self) -> float:
        """Its standard error, relatively."""
        return self.sightings[0].relative_error if self.sightings else math.inf


@dataclass(frozen=True)
class Pilots:
    """Looks at runs; every look has a stream of random numbers of its own."""

    drawer: Drawer
    seed: int

    def look(self, run: Simulation, epsilon: float, *, stream: tuple[int, ...]) -> Pilot:
        """Try proposals for a run with one noise level."""
        found = [
            self._sight(replace(run, proposal=proposal), epsilon, FIRST, (*stream, 0, number))
            for number, proposal in enumerate(_proposals(run, epsilon))
        ]
        spent = sum(one.draws for one in found)
        for stage, draws in enumerate((SECOND, LAST), start=1):
            keep = BEST if draws == SECOND else 1
            ranked = sorted((one for one in found if one.mean > 0), key=_by_variance)[:keep]
            found = [
                self._sight(one.run, epsilon, draws, (*stream, stage, number))
                for number, one in enumerate(ranked)
            ]
            spent += sum(one.draws for one in found)
        return Pilot(run, epsilon, tuple(sorted(found, key=_by_variance)), spent)

    def _sight(
        self, run: Simulation, epsilon: float, draws: int, stream: tuple[int, ...]
    ) -> Sighting:
        job = Job(run, (Payoff(epsilon),), draws, self.seed, stream)
        tally = self.drawer.tally(job, text="Looking ahead")
        mean = float(tally.means[0, 0])
        if not mean > SMALLEST_MEAN:
            return Sighting(run, 0.0, math.inf, 0.0, draws)
        variance = float(tally.variances[0, 0]) / mean**2
        return Sighting(run, mean, variance, float(tally.largest[0, 0]), draws)


def _by_variance(one: Sighting) -> float:
    return one.relative_variance


def _proposals(run: Simulation, epsilon: float) -> Iterator[Proposal | None]:
    """Draws from the run itself, and from proposals if it takes them."""
    yield None
    runner = run.prepared()
    if not runner.takes_proposals:
        return
    unit = runner.shift_for(max(epsilon, 0.1))
    if unit == 0:
        return
    if run.present:
        for scale in SCALES:
            for shift in SHIFTS:
                if (scale, shift) != (1.0, 0.0):
                    yield Proposal(scale, shift * unit)
    else:
        for shift in SHIFTS_WITHOUT:
            yield Proposal(0.0, -shift * unit)
