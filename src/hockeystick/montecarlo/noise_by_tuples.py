"""The noise with a wanted delta from a few thousand draws of tuples of replicas.

The same participations and the same standard normal noise serve several noise levels at once, so
that delta as a function of the noise is smooth whatever the draws were. Nothing here is a claim.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from hockeystick.montecarlo.draws import Job, Payoff
from hockeystick.montecarlo.pilot import PILOT, DrawStatistics, Pilot
from hockeystick.montecarlo.replica_runs import (
    REPLICAS,
    best_replicas,
    noise_by_bounds,
    noise_with,
)
from hockeystick.montecarlo.verifier import PILOT_STREAM, Claim, Verifier
from hockeystick.plan import Plan
from hockeystick.schemes.simulation import Replicas, Simulation, log_largest_payoff

__all__ = [
    "Effort",
    "TupleCurve",
    "most_noise",
    "noise_by_tuples",
    "offers_tuples",
    "proven_by_bounds",
    "sensitivity_of",
]


@dataclass(frozen=True)
class TupleSearchSettings:
    """How the noise is searched."""

    # Levels around a noise, of which the middle one is drawn for; draws for all of them while the
    # noise is searched, and in the end, for an error of delta of about 1 %.
    levels: tuple[float, ...] = (0.98, 1.0, 1.02)
    draws: int = 3_000
    last_draws: int = 32_000
    # The search ends within this distance of the middle level, in logs, or after so many rounds.
    close: float = 0.02
    most_rounds: int = 8
    longest_step: float = 0.2
    # A run whose bound is so many times below what is wanted needs no draws: another run decides.
    settled: float = 10.0
    # Tables that take seconds are used from this ratio of the bound to delta on; no ratio is told
    # from a larger one than the other.
    coarse: float = 30.0
    # With these tables a bound so many times what is wanted is not drawn for.
    hopeless: float = 1e4
    largest_ratio: float = 1e100
    # The proven noise is one at which the logarithm of the bound is no further below what is
    # allowed: about 0.3 % of noise.
    proven: float = 0.06


SEARCH = TupleSearchSettings()


class Effort(NamedTuple):
    """How many draws the last round has, and whether tables that take seconds are made."""

    last_draws: int
    fine: bool


THOROUGH = Effort(SEARCH.last_draws, True)


class TupleCurve(NamedTuple):
    """delta of one run near a noise: level * (noise / centre)^power.

    Without draws the level is a proven bound that is far below what is wanted. `ratio` is the bound
    on a payoff over the level.
    """

    run: Simulation
    epsilon: float
    centre: float
    level: float
    power: float
    relative_variance: float
    draws: int
    replicas: Replicas
    ratio: float = 1.0

    def delta(self, noise: float) -> float:
        """The estimate."""
        return self.level * math.exp(self.power * math.log(noise / self.centre))

    def pilot(self, noise: float) -> Pilot:
        """What draws at a noise would be like; their bound is that noise's own."""
        at = replace(self.run, noise_multipliers=(noise,))
        source = at.prepared().tuples
        if source is None:
            return Pilot(at, self.epsilon, (), 0)
        replicas = self.replicas._replace(noise_multiplier=noise)
        log_largest = source.log_largest(replicas)
        bound = log_largest_payoff(log_largest, replicas.order, self.epsilon)
        known = DrawStatistics(
            replace(at, replicas=replicas),
            self.delta(noise),
            self.relative_variance,
            math.exp(max(bound, -600.0)),
            max(self.draws, 1),
            bound,
        )
        return Pilot(at, self.epsilon, (known,) if math.isfinite(bound) else (), 0)


def sensitivity_of(plan: Plan) -> float:
    """Of the whole run, with participation known."""
    scheme = plan.sampling
    return float(
        scheme.most_copies
        * plan.strategy.sensitivity(
            separation=scheme.least_gap, participations=scheme.most_participations(plan.steps)
        )
    )


def most_noise(claim: Claim) -> float:
    """Far more than every mechanism needs at deltas that floating point tells from 0."""
    return 100.0 * sensitivity_of(claim.plan) / min(claim.epsilon, 1.0)


def offers_tuples(claim: Claim, noise: float) -> bool:
    """Whether all runs of a claim have tuples of replicas, of two at least."""
    sources = [run.prepared().tuples for run in claim.runs(noise)]
    return all(one is not None and one.replicas(2, noise) is not None for one in sources)


def noise_by_tuples(
    verifier: Verifier,
    claim: Claim,
    *,
    aim: float,
    start: float,
    most: float,
    search: Effort = THOROUGH,
) -> tuple[float, list[TupleCurve]] | None:
    """The noise at which delta is estimated at `aim`, and the curves there; None if none is."""
    noise, near = max(
        noise_by_bounds(source, claim.epsilon, aim, start=start, most=most)
        for run in claim.runs(start)
        if (source := run.prepared().tuples) is not None
    )
    last, fine = False, False
    for number in range(SEARCH.most_rounds):
        draws = search.last_draws if last else SEARCH.draws
        curves = _curves(verifier, claim, noise, aim, draws, number, near, fine)
        complete = len(curves) == len(claim.runs(noise))
        poor = not complete or any(curve.ratio > PILOT.good_ratio for curve in curves)
        if poor and (last or not search.fine):
            return None
        if poor and not fine:
            fine, noise = True, min(noise, start)
            continue
        step = _step(curves, aim) if complete else -SEARCH.longest_step
        noise *= math.exp(step)
        if noise > most:
            return None
        if last and abs(step) <= 2 * SEARCH.close:
            return noise, curves
        last = abs(step) <= SEARCH.close
        near = curves[-1].replicas.order if curves else near
        fine = fine or (search.fine and any(curve.ratio > SEARCH.coarse for curve in curves))
    return None


def _step(curves: list[TupleCurve], aim: float) -> float:
    """How far the noise at which delta is `aim` is from here, in logs."""
    steps = [math.log(aim / curve.level) / curve.power for curve in curves if curve.draws > 0]
    longest = SEARCH.longest_step
    return min(max(max(steps, default=-longest), -longest), longest)


def _curves(
    verifier: Verifier,
    claim: Claim,
    noise: float,
    aim: float,
    draws: int,
    number: int,
    near: int,
    fine: bool,
) -> list[TupleCurve]:
    """Of the runs of a claim, up to the first for which draws show nothing."""
    curves: list[TupleCurve] = []
    runs = claim.runs(noise)
    for which, run in enumerate(runs):
        stream = (PILOT_STREAM, 0, number, which)
        curve = None
        if len(runs) > 1 or not fine:
            curve = _settled(run, claim.epsilon, noise, aim, near)
        if curve is None:
            curve = _curve(verifier, run, claim.epsilon, noise, aim, draws, stream, near, fine)
        if curve is None:
            break
        curves.append(curve)
        near = curve.replicas.order
    return curves


def _settled(
    run: Simulation, epsilon: float, noise: float, aim: float, near: int
) -> TupleCurve | None:
    """A run whose bound is far below `aim`, as if it were its delta; None if it is not."""
    enough = math.log(aim / SEARCH.settled)
    source = run.prepared().tuples
    found = (
        [] if source is None else best_replicas(source, noise, epsilon, enough=enough, near=near)
    )
    if not found or found[0][0] > enough:
        return None
    bound, replicas = found[0]
    level = math.exp(max(bound, -600.0))
    return TupleCurve(run, epsilon, noise, level, REPLICAS.power, 0.0, 0, replicas)


def _curve(
    verifier: Verifier,
    run: Simulation,
    epsilon: float,
    noise: float,
    aim: float,
    draws: int,
    stream: tuple[int, ...],
    near: int,
    fine: bool,
) -> TupleCurve | None:
    """delta at the levels around a noise, from the same draws; a power of the noise through it."""
    source = run.prepared().tuples
    found = [] if source is None else best_replicas(source, noise, epsilon, near=near, fine=fine)
    if not found or (fine and found[0][0] > math.log(SEARCH.hopeless * aim)):
        return None
    bound, replicas = found[0]
    levels = tuple(noise * one for one in SEARCH.levels)
    drawn = replace(run, noise_multipliers=levels, replicas=replicas)
    job = Job(drawn, (Payoff(epsilon),), draws, verifier.drawer.seed, stream)
    sums = verifier.drawer.sums(job, text="Pilot run")
    deltas = sums.means[0]
    if not np.all(deltas > 0):
        return None
    power, level = np.polyfit(np.log(SEARCH.levels), np.log(deltas), 1)
    if not power < 0:
        return None
    middle = SEARCH.levels.index(1.0)
    variance = float(sums.variances[0, middle]) / float(deltas[middle]) ** 2
    ratio = math.exp(min(bound - float(level), math.log(SEARCH.largest_ratio)))
    level = math.exp(level)
    return TupleCurve(run, epsilon, noise, level, float(power), variance, draws, replicas, ratio)


def proven_by_bounds(claim: Claim, *, start: float, most: float, near: int) -> float:
    """A noise at which the bound on payoffs, which is one on delta, is at most what is allowed.

    The moment of one order, converted: proven for removing, and so for both directions. `most` if
    none is found; the search for orders begins at `near`.
    """
    orders = [near for _ in claim.runs(start)]

    def bound(noise: float) -> float:
        worst = -math.inf
        for number, run in enumerate(claim.runs(noise)):
            source = run.prepared().tuples
            bounds = (
                []
                if source is None
                else best_replicas(source, noise, claim.epsilon, near=orders[number])
            )
            if not bounds:
                return math.inf
            worst, orders[number] = max(worst, bounds[0][0]), bounds[0][1].order
        return worst

    wanted = math.log(claim.allowed)
    return noise_with(bound, wanted, start=start, most=most, close=SEARCH.proven)
