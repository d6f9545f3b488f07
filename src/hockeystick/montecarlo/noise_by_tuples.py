"""The noise with a wanted delta from a few thousand draws of tuples of replicas.

The same participations and the same standard normal noise serve several noise levels at once, so
that delta as a function of the noise is smooth whatever the draws were. Nothing here is a claim.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

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
    largest_ratio: float = 1e100
    # The proven noise is one at which the logarithm of the bound is no further below what is
    # allowed: about 0.3 % of noise.
    proven: float = 0.06


SEARCH = TupleSearchSettings()


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
    last_draws: int = SEARCH.last_draws,
) -> tuple[float, list[TupleCurve]] | None:
    """The noise at which delta is estimated at `aim`, and the curves there; None if none is."""
    last, fine = False, False
    noise, near = _first_noise(claim, aim, start, most, 2, fine)
    for number in range(SEARCH.most_rounds):
        curves = []
        for which, run in enumerate(claim.runs(noise)):
            draws = last_draws if last else SEARCH.draws
            stream = (PILOT_STREAM, 0, number, which)
            curve = _settled(run, claim.epsilon, noise, aim, near) or _curve(
                verifier, run, claim.epsilon, noise, draws, stream, near, fine
            )
            if curve is None or curve.ratio > PILOT.good_ratio:
                if fine:
                    return None
                fine = True
                noise, near = _first_noise(claim, aim, noise, most, near, fine)
                break
            curves.append(curve)
            near = curve.replicas.order
            fine = fine or curve.ratio > SEARCH.coarse
        if len(curves) < len(claim.runs(noise)):
            continue
        drawn = [curve for curve in curves if curve.draws > 0]
        steps = [math.log(aim / curve.level) / curve.power for curve in drawn]
        step = max(steps, default=-SEARCH.longest_step)
        noise *= math.exp(min(max(step, -SEARCH.longest_step), SEARCH.longest_step))
        if noise > most:
            return None
        if last and abs(step) <= 2 * SEARCH.close:
            return noise, curves
        last = abs(step) <= SEARCH.close
    return None


def _first_noise(
    claim: Claim, aim: float, start: float, most: float, near: int, fine: bool
) -> tuple[float, int]:
    """Of the run that needs most, by bounds alone, and the order there."""
    options: dict[str, Any] = {"start": start, "most": most, "near": near, "fine": fine}
    return max(
        noise_by_bounds(source, claim.epsilon, aim, **options)
        for run in claim.runs(start)
        if (source := run.prepared().tuples) is not None
    )


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
    draws: int,
    stream: tuple[int, ...],
    near: int,
    fine: bool,
) -> TupleCurve | None:
    """delta at the levels around a noise, from the same draws; a power of the noise through it."""
    source = run.prepared().tuples
    found = [] if source is None else best_replicas(source, noise, epsilon, near=near, fine=fine)
    if not found:
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
