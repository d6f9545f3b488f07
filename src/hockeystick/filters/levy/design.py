"""Which Levy process suits what an analyst may ask for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick._numerics.search import bracket
from hockeystick.filters.levy.charge import (
    LARGEST_NOISE,
    beside_catalyst,
    block_of,
    block_variance,
    catalyst_for,
)
from hockeystick.filters.levy.domination import curves_of
from hockeystick.filters.levy.process import LevyProcess
from hockeystick.filters.levy.programme import Lattice, Solution, Target, solve
from hockeystick.filters.renyi.charge import budget_at_order, prices
from hockeystick.filters.renyi.orders import best_order

__all__ = ["Wanted", "designed", "largest_time"]

# Share of delta that pays for what is killed.
RESERVE = 0.01
# Catalysts that are tried, as shares of the variance of the whole run.
CATALYSTS = (0.03, 0.01, 0.003)
# Kinds of jumps, how many lattice steps the largest one has, and how long the lattice may get.
KINDS, FINEST, MOST_ATOMS = 24, 128, 20_000
# The lattice is this many times as long as epsilon, and jumps are no larger than the second: the
# square of e^x has to be a number.
SPAN_OF_EPSILON, LARGEST_JUMP = 8.0, 300.0
# Settings that stand for a range, and the weight of one that is not expected itself.
NOISES, RATES, UNEXPECTED = 4, 2, 0.05
# Smaller rates are designed for as if they were this: a run of them has no end in sight.
SMALLEST_RATE = 1e-6
# Designs are kept to this many digits.
DIGITS = 4
# Share of the variance that the first guess leaves to the Gaussian part.
FIRST_GAUSSIAN = 0.3
TIME_TOLERANCE = 1e-9
# A design for a run that is longer or shorter by this factor is made again, up to so many times.
REVISED, MOST_REVISIONS = 1.5, 4
# No run is taken to be shorter than this many blocks.
SMALLEST_RUN = 1e-3


class Wanted(NamedTuple):
    """What the filter is for: settings as often as they are expected, in blocks of `steps`."""

    rates: tuple[float, ...]
    noise_multipliers: tuple[float, ...]
    steps: int
    epsilon: float
    delta: float


class _Setting(NamedTuple):
    rate: float
    noise: float
    weight: float


class _Run(NamedTuple):
    """A rough idea of the whole run: the order that matters and the number of blocks."""

    order: float
    blocks: float


def designed(wanted: Wanted) -> LevyProcess:
    """The process, with its catalyst and its killing, that allows the most expected blocks.

    Full batches need no jumps: Brownian motion alone, exact. So it is for an epsilon so large that
    a lattice over it would have to be coarser than any jump. Otherwise a few catalysts are tried,
    and for each the jumps are found by linear programmes; some seconds in total.
    """
    settings = _settings(wanted)
    coarsest = SPAN_OF_EPSILON * wanted.epsilon / MOST_ATOMS
    if all(setting.rate == 1.0 for setting in settings) or coarsest > LARGEST_JUMP:
        return LevyProcess(gaussian=1.0)
    first, *others = CATALYSTS
    run, candidate = _settled(wanted, settings, first)
    candidates = [candidate, *(_candidate(wanted, settings, run, share) for share in others)]
    return max(candidates, key=lambda found: found[0])[1]


def largest_time(process: LevyProcess, *, epsilon: float, delta: float) -> float:
    """The largest time at which the process with its catalyst is (epsilon, delta)-DP; 0 if none."""

    def too_much(time: float) -> bool:
        pair = process.pair(time)
        worst = max(pair.closed_form(epsilon, reverse=back) or 0.0 for back in (False, True))
        return not worst * (1 + pair.closed_form_error) <= delta

    start = 1e-6 * delta / max(process.variance, delta)
    if too_much(start):
        return 0.0
    low, high = start, 2 * start
    while not too_much(high):
        low, high = high, 2 * high
    return bracket(too_much, low, high, tolerance=TIME_TOLERANCE)[0]


def _settings(wanted: Wanted) -> list[_Setting]:
    """A small grid over the ranges; each expected setting counts for the nearest point."""
    rates = _nodes([max(rate, SMALLEST_RATE) for rate in wanted.rates], RATES)
    # With several rates fewer noise levels have to do.
    levels = [min(noise, LARGEST_NOISE) for noise in wanted.noise_multipliers]
    noises = _nodes(levels, NOISES if len(rates) == 1 else NOISES - 1)
    return [_Setting(q, s, u * w) for q, u in rates for s, w in noises]


def _nodes(values: Sequence[float], count: int) -> list[tuple[float, float]]:
    logs = np.log(np.array(values))
    low, high = float(logs.min()), float(logs.max())
    if not high > low:
        return [(float(values[0]), 1.0)]
    nodes = np.linspace(low, high, count)
    nearest = np.abs(logs[:, None] - nodes).argmin(axis=1)
    counts = np.bincount(nearest, minlength=count) / logs.size
    points = np.exp(nodes)
    points[0], points[-1] = min(values), max(values)
    return list(zip(points.tolist(), np.maximum(counts, UNEXPECTED).tolist(), strict=True))


def _settled(
    wanted: Wanted, settings: Sequence[_Setting], share: float
) -> tuple[_Run, tuple[float, LevyProcess]]:
    """The run as its own design sees it: catalyst and killing depend on the number of blocks."""
    run = _rough_run(wanted, settings)
    for _ in range(MOST_REVISIONS):
        found = _candidate(wanted, settings, run, share)
        guess, run = run.blocks, run._replace(blocks=max(found[0], SMALLEST_RUN))
        if 1 / REVISED < run.blocks / guess < REVISED:
            break
    return run, found


def _rough_run(wanted: Wanted, settings: Sequence[_Setting]) -> _Run:
    """As the Renyi filter sees it."""
    heaviest = max(settings, key=lambda s: s.weight * block_variance(s.rate, s.noise, 1))
    order = best_order(
        epsilon=wanted.epsilon,
        delta=wanted.delta,
        rate=heaviest.rate,
        noise_multiplier=heaviest.noise,
    )
    total = sum(setting.weight for setting in settings)
    step = sum(
        s.weight / total * float(prices(order, s.rate, np.array([s.noise**-2.0]))[0])
        for s in settings
    )
    budget = budget_at_order(order, wanted.epsilon, wanted.delta)
    return _Run(order, max(budget / (step * wanted.steps), SMALLEST_RUN))


def _candidate(
    wanted: Wanted, settings: Sequence[_Setting], run: _Run, share: float
) -> tuple[float, LevyProcess]:
    """The number of expected blocks that fit, and the process that allows them."""
    total = sum(setting.weight for setting in settings)
    variances = np.array([block_variance(s.rate, s.noise, wanted.steps) for s in settings])
    weights = np.array([setting.weight for setting in settings]) / total
    mean = float(weights @ variances)
    catalyst = share * run.blocks * mean
    floor = RESERVE * wanted.delta / max(run.blocks, 1.0)
    targets = [
        _target(setting, wanted.steps, weight, catalyst, floor * variance / mean)
        for setting, variance, weight in zip(settings, variances, weights, strict=True)
    ]
    if any(curve.price.max() <= one.floor for one in targets for curve in one.curves):
        # There is nothing to cover: what is killed pays for all of it.
        return 0.0, LevyProcess(gaussian=1.0)
    lattice = _lattice(wanted, settings, floor, run.blocks * mean)
    start = _first_guess(lattice, settings[0], wanted.steps)
    found = solve(targets, lattice, start=start, order=run.order)
    return _finished(wanted, lattice, found, catalyst, weights)


def _target(setting: _Setting, steps: int, weight: float, catalyst: float, floor: float) -> Target:
    variance = block_variance(setting.rate, setting.noise, steps)
    part = catalyst_for(catalyst, variance)
    block = block_of(setting.rate, setting.noise, steps)
    law = beside_catalyst(block, catalyst=part, variance=variance, tail=1e-2 * floor)
    return Target(curves_of(law), variance, part, weight, floor)


def _lattice(
    wanted: Wanted, settings: Sequence[_Setting], floor: float, variance: float
) -> Lattice:
    """Geometric sizes up to the largest loss that a single step reaches above the floor.

    Jumps of x that carry a variance V come V/x^2 times, and the lattice has to hold them all: for a
    run of the given variance the unit may not be too small. What is smaller is left to the Gaussian
    part.
    """
    from hockeystick._numerics.gaussian import quantile_of_tail

    rate, noise = max(s.rate for s in settings), min(s.noise for s in settings)
    mu = 1 / noise
    reach = mu * quantile_of_tail(min(floor / (wanted.steps * rate), 0.1)) + mu**2 / 2
    largest = math.log1p(rate * math.expm1(min(reach, LARGEST_JUMP)))
    span = SPAN_OF_EPSILON * wanted.epsilon + 20 * largest
    smallest = max(largest / FINEST, span / MOST_ATOMS, math.sqrt(variance / MOST_ATOMS))
    finest = max(round(largest / smallest), 1)
    sizes = np.unique(np.round(np.geomspace(1, finest, KINDS)).astype(int))
    return Lattice(max(largest / finest, smallest), tuple(int(size) for size in sizes))


def _first_guess(lattice: Lattice, setting: _Setting, steps: int) -> FloatArray:
    """The jumps of the steps themselves, each counted at the nearest size, and some noise."""
    from scipy.special import ndtr

    jumps, mu = lattice.jumps, 1 / setting.noise
    inner = np.sqrt(jumps[1:] * jumps[:-1])
    edges = np.concatenate(([0.6 * jumps[0]], inner, [1.05 * jumps[-1]]))
    above = ndtr(-(np.log1p(np.expm1(edges) / setting.rate) / mu + mu / 2))
    rates = steps * -np.diff(above)
    variance = block_variance(setting.rate, setting.noise, steps)
    return np.append(FIRST_GAUSSIAN * variance, rates)


def _finished(
    wanted: Wanted, lattice: Lattice, found: Solution, catalyst: float, weights: FloatArray
) -> tuple[float, LevyProcess]:
    used = found.parameters[1:] > 0
    process = LevyProcess(
        gaussian=_short(found.parameters[0]),
        unit=lattice.unit,
        sizes=tuple(size for size, kept in zip(lattice.sizes, used, strict=True) if kept),
        rates=tuple(_short(rate) for rate in found.parameters[1:][used]),
        catalyst=_short(catalyst),
    )
    time = largest_time(process, epsilon=wanted.epsilon, delta=(1 - RESERVE) * wanted.delta)
    if not (time > 0 and math.isfinite(found.cost)):
        return 0.0, LevyProcess(gaussian=1.0)
    killing = _short(RESERVE * wanted.delta / time)
    final = replace(process, killing=killing)
    return time / float(weights @ found.times), final


def _short(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
