"""Which tuples of replicas to draw: the orders with the smallest proven bounds on a payoff.

The bounds come from tables, without any draw. A poor choice costs draws, never validity.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from hockeystick.schemes.simulation import Replicas, Simulation, TupleSource, log_largest_payoff

__all__ = ["REPLICAS", "best_replicas", "noise_by_bounds", "noise_with", "replica_runs"]


@dataclass(frozen=True)
class ReplicaSettings:
    """How far orders are searched."""

    # Orders up to so many beyond the first that is no better, and no further than the last.
    beyond: int = 0
    last: int = 48
    # The noise at which the bound is this many times the wanted delta: typical of the ratio.
    ratio: float = 6.0
    # The search for it ends within this factor, or after so many noises.
    close: float = 2.0
    most_noises: int = 40
    # A bound so many times below the wanted one is not improved.
    far: float = 1e3
    # The longest step in log noise; delta falls as a power of the noise, at first taken as this,
    # and in the range that is believed.
    longest_step: float = 0.4
    power: float = -15.0
    flattest: float = -3.0
    steepest: float = -400.0


REPLICAS = ReplicaSettings()


def best_replicas(
    source: TupleSource,
    noise: float,
    epsilon: float,
    *,
    enough: float = -math.inf,
    near: int = 2,
    fine: bool = False,
) -> list[tuple[float, Replicas]]:
    """log M and the programme for each order that was tried, the smallest bound first.

    Upwards from the order `near`, while bounds fall, then downwards. A bound of at most `enough`
    need not be improved.
    """
    found: list[tuple[float, Replicas]] = []

    def tries(order: int) -> bool:
        """Whether to go on after this order."""
        replicas = source.replicas(order, noise, fine=fine)
        if replicas is None:
            return False
        bound = log_largest_payoff(source.log_largest(replicas), order, epsilon)
        found.append((bound, replicas))
        best = min(found)
        return best[0] > enough and abs(order - best[1].order) <= REPLICAS.beyond

    first = max(near, 2)
    for order in range(first, REPLICAS.last + 1):
        if not tries(order):
            break
    for order in range(first - 1, 1, -1):
        if (found and min(found)[0] <= enough) or not tries(order):
            break
    return sorted(one for one in found if one[0] < math.inf)


def replica_runs(run: Simulation, epsilon: float) -> list[tuple[Simulation, float]]:
    """The run with tuples of replicas whose payoffs are bounded, and log of the bounds."""
    source = run.prepared().tuples
    if source is None or len(run.noise_multipliers) != 1:
        return []
    (noise,) = run.noise_multipliers
    return [
        (replace(run, proposal=None, replicas=replicas), bound)
        for bound, replicas in best_replicas(source, noise, epsilon)
    ]


def noise_by_bounds(
    source: TupleSource,
    epsilon: float,
    aim: float,
    *,
    start: float,
    most: float,
    near: int = 2,
    fine: bool = False,
) -> tuple[float, int]:
    """About the noise at which delta is `aim`, from the bounds alone, and the best order there.

    With far too much noise the best order is large; there a bound that is small enough will do.
    """
    wanted = math.log(REPLICAS.ratio * aim)

    def bound(noise: float) -> float:
        nonlocal near
        far = wanted - math.log(REPLICAS.far)
        bounds = best_replicas(source, noise, epsilon, enough=far, near=near, fine=fine)
        near = bounds[0][1].order if bounds else 2
        return bounds[0][0] if bounds else math.inf

    noise = noise_with(bound, wanted, start=start, most=most, close=math.log(REPLICAS.close))
    return noise, near


def noise_with(
    bound: Callable[[float], float], wanted: float, *, start: float, most: float, close: float
) -> float:
    """A noise at which `bound` is at most `wanted`, and by no more than `close` below it.

    By secants: the bound is the logarithm of something that falls about as a power of the noise.
    `most` if that is not enough; a noise at which the bound is smaller if the search does not end.
    """
    noise, low, high = min(start, most), 0.0, math.inf
    power, before = REPLICAS.power, (0.0, math.inf)
    for _ in range(REPLICAS.most_noises):
        known = bound(noise)
        distance = wanted - close / 2 - known
        if abs(distance) <= close / 2:
            return noise
        if noise >= most and distance < 0:
            return most
        if math.isfinite(known) and math.isfinite(before[1]):
            slope = (known - before[1]) / math.log(noise / before[0])
            power = min(max(slope, REPLICAS.steepest), REPLICAS.flattest)
        low, high = (low, noise) if distance > 0 else (noise, high)
        before = (noise, known)
        step = min(max(distance / power, -REPLICAS.longest_step), REPLICAS.longest_step)
        noise = min(noise * math.exp(step), most)
        if not low < noise < high:
            noise = math.sqrt(low * high)
    return min(high, most)
