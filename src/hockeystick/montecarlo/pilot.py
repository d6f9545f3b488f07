"""Pilot runs: roughly how large delta is, from where to draw, and which noise to test.

Nothing here is a claim. Pilots have randomness of their own, so what they find may be used to place
thresholds and to choose proposals for draws that come after.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from hockeystick.montecarlo.drawing import Drawer
from hockeystick.montecarlo.draws import Job, Payoff
from hockeystick.montecarlo.replica_runs import replica_runs
from hockeystick.schemes.simulation import Proposal, Simulation

__all__ = ["PILOT", "DrawStatistics", "NoiseEstimate", "Pilot", "noise_by_pilots", "run_pilot"]

# Squares of smaller means are lost to underflow; such a delta counts as not observed.
SMALLEST_MEAN = 1e-140


@dataclass(frozen=True)
class PilotSettings:
    """How a pilot chooses a proposal. A poor choice costs draws later, never validity."""

    # Draws from each proposal, from each of the `kept` best, and from the best. The last ones give
    # a good proposal's mean, of relative variance 4 or so, to about 1 %.
    draws: tuple[int, int, int] = (500, 4_000, 40_000)
    kept: int = 4
    # With the example: scales of the means, with shifts in units of what moves the loss by epsilon.
    scales: tuple[float, ...] = (1.0, 1.5, 2.0, 3.0)
    shifts: tuple[float, ...] = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
    # Without it: shifts alone, a little beyond one such unit.
    shifts_without: tuple[float, ...] = (0.2, 0.4, 0.6, 0.8, 1.0, 1.2)
    # Below this epsilon the unit of shifts stays the same, so that it does not vanish.
    least_epsilon: float = 0.1
    # Tuples of replicas: how many orders, draws from each, and from the best of them.
    orders: int = 3
    replica_draws: tuple[int, int] = (500, 20_000)
    # They do where the bound on a payoff is at most so many times delta; otherwise proposals are
    # tried as well.
    good_ratio: float = 1_000.0


@dataclass(frozen=True)
class NoiseSearchSettings:
    """How the noise with a wanted delta is searched by pilots."""

    # The search ends within a factor e^close of the wanted delta, or after so many noises.
    close: float = 0.15
    most_noises: int = 30
    # The longest step in log noise, which changes delta by e^6 at the first power; and the step
    # to a second noise if the first one is close already, since the power needs two.
    longest_step: float = 0.4
    second_step: float = 0.01
    # delta falls as a power of the noise: the first guess, and the range that is believed.
    power: float = -15.0
    flattest: float = -3.0
    steepest: float = -400.0


PILOT, SEARCH = PilotSettings(), NoiseSearchSettings()


class DrawStatistics(NamedTuple):
    """What draws from one proposal were like; `relative_variance` is of a single draw.

    No payoff exceeds e^log_largest.
    """

    run: Simulation
    mean: float
    relative_variance: float
    largest: float
    draws: int
    log_largest: float = math.inf

    @property
    def relative_error(self) -> float:
        """The standard error of the mean over the mean."""
        return math.sqrt(self.relative_variance / self.draws) if self.mean > 0 else math.inf


@dataclass(frozen=True)
class Pilot:
    """What was observed of one run at one epsilon: the proposal with the least variance first."""

    run: Simulation
    epsilon: float
    statistics: tuple[DrawStatistics, ...]
    draws: int

    @property
    def mean(self) -> float:
        """An estimate of delta; 0 if no draw counted."""
        return self.statistics[0].mean if self.statistics else 0.0

    @property
    def relative_error(self) -> float:
        """Its standard error, relatively."""
        return self.statistics[0].relative_error if self.statistics else math.inf


def run_pilot(drawer: Drawer, run: Simulation, epsilon: float, *, stream: tuple[int, ...]) -> Pilot:
    """Try proposals for a run with one noise level, with a stream of random numbers of its own.

    Where tuples of replicas have bounds close to delta nothing else is tried.
    """
    tuples = _replica_statistics(drawer, run, epsilon, (*stream, 3))
    if tuples and tuples[0].log_largest <= math.log(PILOT.good_ratio * tuples[0].mean):
        return Pilot(run, epsilon, tuples, sum(one.draws for one in tuples))
    first, second, last = PILOT.draws
    found = [
        _statistics(drawer, replace(run, proposal=one), epsilon, first, (*stream, 0, number))
        for number, one in enumerate(_proposals(run, epsilon))
    ]
    spent = sum(one.draws for one in found)
    for stage, (draws, keep) in enumerate(((second, PILOT.kept), (last, 1)), start=1):
        ranked = sorted((one for one in found if one.mean > 0), key=_by_variance)[:keep]
        found = [
            _statistics(drawer, one.run, epsilon, draws, (*stream, stage, number))
            for number, one in enumerate(ranked)
        ]
        spent += sum(one.draws for one in found)
    found += tuples
    return Pilot(run, epsilon, tuple(sorted(found, key=_by_variance)), spent)


def _replica_statistics(
    drawer: Drawer, run: Simulation, epsilon: float, stream: tuple[int, ...]
) -> tuple[DrawStatistics, ...]:
    """What draws of the best tuples of replicas are like; nothing if there are none."""
    few, many = PILOT.replica_draws
    tried = [
        _statistics(drawer, one, epsilon, few, (*stream, 0, number))._replace(log_largest=bound)
        for number, (one, bound) in enumerate(replica_runs(run, epsilon)[: PILOT.orders])
    ]
    if not any(one.mean > 0 for one in tried):
        return ()
    best = min(tried, key=_by_variance)
    found = _statistics(drawer, best.run, epsilon, many, (*stream, 1))
    return (found._replace(log_largest=best.log_largest),) if found.mean > 0 else ()


def _statistics(
    drawer: Drawer, run: Simulation, epsilon: float, draws: int, stream: tuple[int, ...]
) -> DrawStatistics:
    job = Job(run, (Payoff(epsilon),), draws, drawer.seed, stream)
    sums = drawer.sums(job, text="Pilot run")
    mean = float(sums.means[0, 0])
    if not mean > SMALLEST_MEAN:
        return DrawStatistics(run, 0.0, math.inf, 0.0, draws)
    variance = float(sums.variances[0, 0]) / mean**2
    return DrawStatistics(run, mean, variance, float(sums.largest[0, 0]), draws)


def _by_variance(one: DrawStatistics) -> float:
    return one.relative_variance


def _proposals(run: Simulation, epsilon: float) -> Iterator[Proposal | None]:
    """Draws from the run itself, and from proposals if it takes them."""
    yield None
    runner = run.prepared()
    if not runner.takes_proposals:
        return
    unit = runner.shift_for(max(epsilon, PILOT.least_epsilon))
    if unit == 0:
        return
    if run.present:
        for scale in PILOT.scales:
            for shift in PILOT.shifts:
                if (scale, shift) != (1.0, 0.0):
                    yield Proposal(scale, shift * unit)
    else:
        for shift in PILOT.shifts_without:
            yield Proposal(0.0, -shift * unit)


class NoiseEstimate(NamedTuple):
    """A noise, what the pilots observed there, and with which power of the noise delta falls."""

    noise: float
    pilots: list[Pilot]
    power: float

    @property
    def delta(self) -> float:
        """The estimate in the worst direction."""
        return max(pilot.mean for pilot in self.pilots)


def noise_by_pilots(
    pilots_at: Callable[[float, int], list[Pilot]],
    *,
    aim: float,
    most: float,
    start: float,
    close: float = SEARCH.close,
) -> NoiseEstimate | None:
    """The noise at which pilots estimate delta at `aim`; None if `most` is not enough.

    `pilots_at(noise, number)` runs the pilots of the number-th noise. By a secant search on log
    delta against log noise.
    """
    noise = min(start, most)
    power, before = SEARCH.power, None
    for number in range(SEARCH.most_noises):
        near = NoiseEstimate(noise, pilots_at(noise, number), power)
        observed = math.log(near.delta) if near.delta > 0 else -math.inf
        if before is not None and math.isfinite(observed) and noise != before[0]:
            slope = (observed - before[1]) / math.log(noise / before[0])
            power = min(max(slope, SEARCH.steepest), SEARCH.flattest)
        if abs(observed - math.log(aim)) <= close and before is not None:
            return near._replace(power=power)
        if noise >= most and observed > math.log(aim):
            return None
        distance = math.log(aim) - observed
        step = distance / power if abs(distance) > close else SEARCH.second_step
        before = (noise, observed) if math.isfinite(observed) else before
        longest = SEARCH.longest_step
        noise = min(noise * math.exp(min(max(step, -longest), longest)), most)
    return None
