"""The cheapest Levy process that covers given curves: linear programmes, one after the other.

The profile of a Levy pair is a smooth function of its Gaussian variance and jump rates t = (s^2,
r_1, r_2, ...) and of the times k_i at which it has to cover the mechanisms. With F(x) = (x - g)+,

    d/dr_j E F(LR) = time * E[F(LR e^x_j) - F(LR) - (e^x_j - 1) LR F'(LR)],

and all three terms are numbers of the profile itself. What is minimised is the logarithm of a
moment E_Q[LR^a] of the whole run, linear in t. Nothing here is part of a proof: whatever comes out
is compared with the mechanisms by levy/charge.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick.filters.levy.charge import UNSEEN, HalfProfile
from hockeystick.filters.levy.pair import LevyPair

__all__ = ["DEFAULT", "CoveredBlock", "Lattice", "SearchSettings", "Solution", "solve"]


@dataclass(frozen=True)
class SearchSettings:
    """How a process is designed: any choice is valid; tightness and time depend on it.

    `benchmarks/levy_settings.py` halves and doubles each: at blocks of 50 steps at rate 0.01 and
    single steps at rate 0.1 no change allows more than 0.4 % more steps, or 0.8 % fewer.
    """

    # -- what the process is made of --------------------------------------------------------------
    reserve: float = 0.01
    """Share of delta that pays for what is killed: about that share of epsilon is lost."""
    catalysts: tuple[float, ...] = (0.03, 0.01, 0.003)
    """Catalysts that are tried, as shares of the variance of the whole run; the first one also
    settles the length of the run."""
    kinds_of_jumps: int = 24
    """Sizes of jumps, in geometric progression."""
    finest: int = 128
    """Lattice steps of the largest jump."""
    most_atoms: int = 20_000
    """Atoms of the lattice; the cost of a charge is proportional to it."""
    span_of_epsilon: float = 8.0
    """The lattice is this many times as long as epsilon, so that what is cut is far below delta."""
    largest_jump: float = 300.0
    """In nats: the square of e^x has to be a double precision number."""
    digits: int = 4
    """Significant digits of a process: short enough to be written down."""

    # -- what it is designed for ------------------------------------------------------------------
    noise_levels: int = 4
    """Noise multipliers that stand for a range; one fewer where there are several rates."""
    rate_levels: int = 2
    """Rates that stand for a range."""
    unexpected_weight: float = 0.05
    """Weight of a point of that grid that is not itself expected."""
    smallest_rate: float = 1e-6
    """Smaller rates are designed for as if they were this: a run of them has no end in sight."""
    shortest_run: float = 1e-3
    """No run is taken to be shorter than this many blocks."""
    revised_by: float = 1.5
    """A design for a run that turns out longer or shorter by this factor is made again."""
    most_revisions: int = 4
    """How often: each time some seconds."""

    # -- the linear programmes --------------------------------------------------------------------
    first_gaussian: float = 0.3
    """Share of the variance that the first guess leaves to the Gaussian part."""
    smallest_gaussian: float = 0.25
    """Least share of the jumps' variance that the Gaussian part has: tiny steps, which have only a
    tiny part of the catalyst, could not be covered otherwise."""
    most_rounds: int = 10
    """Linear programmes, one after the other."""
    enough: float = 3e-4
    """A relative gain below this ends them."""
    first_radius: float = 1.0
    """How far a programme may move each number at once, relative to itself."""
    smallest_radius: float = 0.02
    """Steps that fail shrink the radius; below this nothing better is found."""
    largest_radius: float = 2.0
    """Steps that succeed widen it up to this."""
    floor_of_rates: float = 0.05
    """Rates that are 0 may move by this share of the largest one."""
    points: int = 45
    """Points of each curve that are covered, equally spaced in the logarithm of its height."""
    linear_points: int = 15
    """More points, equally spaced in the loss."""
    wider: float = 1.3
    """By which factor brackets of times are widened."""
    time_accuracy: float = 2e-4
    """To which times are found; charges are found again, to their own accuracy."""
    largest_time: float = 1e4
    """A process that needs this many times the guess covers nothing."""
    largest_exponent: float = 500.0
    """Of e^(order * jump) in the cost: keeps sums of them finite."""


DEFAULT = SearchSettings()


class Lattice(NamedTuple):
    """The jumps that are allowed."""

    unit: float
    sizes: tuple[int, ...]

    @property
    def jumps(self) -> FloatArray:
        """Their sizes in the loss."""
        return np.array(self.sizes) * self.unit


class CoveredBlock(NamedTuple):
    """A block of steps beside its catalyst, and how often it is expected.

    `variance` is about the block's own; heights up to `floor` are paid for by what is killed.
    """

    curves: tuple[HalfProfile, HalfProfile]
    variance: float
    catalyst: float
    weight: float
    floor: float


class Solution(NamedTuple):
    """Gaussian variance and jump rates, the times of the blocks, and the cost of one round."""

    parameters: FloatArray
    times: FloatArray
    cost: float


def solve(
    blocks: Sequence[CoveredBlock],
    lattice: Lattice,
    *,
    start: FloatArray,
    order: float,
    settings: SearchSettings,
) -> Solution:
    """A process that covers all blocks at little cost at the given order, from a first guess."""
    programme = _Programme(blocks, lattice, order, settings)
    variances = np.array([block.variance for block in blocks])
    best = programme.scaled(start, variances / variances[0])
    radius = settings.first_radius
    for _ in range(settings.most_rounds):
        found = programme.step(best, radius)
        if found is None or not found.cost < best.cost:
            radius *= 0.35
            if radius < settings.smallest_radius:
                break
            continue
        gain = 1 - found.cost / best.cost if math.isfinite(best.cost) else 1.0
        best = found
        radius = min(1.5 * radius, settings.largest_radius)
        if gain < settings.enough:
            break
    return best


class _Programme:
    def __init__(
        self,
        blocks: Sequence[CoveredBlock],
        lattice: Lattice,
        order: float,
        settings: SearchSettings,
    ) -> None:
        self._blocks, self._lattice, self._settings = blocks, lattice, settings
        self._points = [tuple(_thinned(c, b.floor, settings) for c in b.curves) for b in blocks]
        self._weights = np.array([block.weight for block in blocks])
        jumps = lattice.jumps
        high = np.exp(np.minimum(order * jumps, settings.largest_exponent))
        self._costs = np.append(order * (order - 1) / 2, high - 1 - order * np.expm1(jumps))

    def scaled(self, parameters: FloatArray, guesses: FloatArray) -> Solution:
        """The smallest times for these parameters, in units of the first one."""
        times = np.array([self._time(parameters, n, guess) for n, guess in enumerate(guesses)])
        if not np.all(np.isfinite(times)):
            return Solution(parameters, np.ones(times.size), math.inf)
        cost = float(self._weights @ times) * float(self._costs @ parameters)
        return Solution(parameters * times[0], times / times[0], cost)

    def step(self, at: Solution, radius: float) -> Solution | None:
        """The best point nearby of the problem linearised here."""
        from scipy.optimize import linprog

        count, others = at.parameters.size, at.times.size
        rows, sides = [], []
        for n, time in enumerate(at.times):
            value, slope = self._slopes(at.parameters, n, time)
            in_time = slope @ at.parameters / time
            row = np.zeros((value.size, count + others))
            row[:, :count], row[:, count + n] = slope, in_time
            rows.append(row)
            sides.append(1 - value + slope @ at.parameters + in_time * time)
        rows.append(self._gaussian_share(count + others))
        sides.append(np.zeros(1))
        total, cost = float(self._weights @ at.times), float(self._costs @ at.parameters)
        gradient = np.concatenate((self._costs / cost, self._weights / total))
        now = np.concatenate((at.parameters, at.times))
        floor = self._settings.floor_of_rates * at.parameters[1:].max(initial=0.0)
        reach = radius * np.maximum(now, floor)
        reach[count:] = 0.3 * radius * at.times
        reach[count] = 0.0
        unit = np.maximum(now, 0.01 * at.parameters.max())
        bounds = np.stack((np.maximum(now - reach, 0.0), now + reach), axis=1) / unit[:, None]
        found = linprog(
            gradient * unit,
            A_ub=-np.concatenate(rows) * unit,
            b_ub=-np.concatenate(sides),
            bounds=bounds,
            method="highs",
        )
        if found.x is None:
            return None
        point = found.x * unit
        return self.scaled(point[:count], point[count:])

    def _gaussian_share(self, size: int) -> FloatArray:
        """The row that keeps the Gaussian part at a share of the jumps' variance."""
        row: FloatArray = np.zeros((1, size))
        squares = np.expm1(self._lattice.jumps) ** 2
        row[0, : squares.size + 1] = np.append(1.0, -self._settings.smallest_gaussian * squares)
        row /= squares.max()
        return row

    def _pair(self, parameters: FloatArray, n: int, time: float) -> LevyPair:
        return LevyPair(
            variance=float(parameters[0]) * time + self._blocks[n].catalyst,
            unit=self._lattice.unit,
            sizes=self._lattice.sizes,
            rates=tuple((parameters[1:] * time).tolist()),
        )

    def _ratios(self, parameters: FloatArray, n: int, time: float) -> FloatArray:
        """The profile over what has to be covered, at the points of both curves."""
        pair, floor = self._pair(parameters, n, time), self._blocks[n].floor
        parts = [
            (pair.calls(curve.loss, reverse=side == 1, unseen=floor * UNSEEN).call + floor)
            / curve.height
            for side, curve in enumerate(self._points[n])
        ]
        return np.concatenate(parts)

    def _slopes(self, parameters: FloatArray, n: int, time: float) -> tuple[FloatArray, FloatArray]:
        """The same, and its derivatives in the parameters."""
        pair, jumps = self._pair(parameters, n, time), self._lattice.jumps
        values, slopes = [], []
        for side, curve in enumerate(self._points[n]):
            back = side == 1
            unseen = UNSEEN * self._blocks[n].floor
            here = pair.calls(curve.loss, reverse=back, unseen=unseen)
            moved = (curve.loss[:, None] + (jumps if back else -jumps)).ravel()
            there = pair.calls(moved, reverse=back, unseen=unseen).call.reshape(-1, jumps.size)
            # LR F'(LR) is P(LR > g) for (P, Q), and -g P(LR < 1/g) for (Q, P).
            level = -here.other if back else here.call + here.other
            after = there if back else np.exp(jumps) * there
            in_rates = after - here.call[:, None] - np.expm1(jumps) * level[:, None]
            slope = np.concatenate((here.vega[:, None], in_rates), axis=1) * time
            values.append((here.call + self._blocks[n].floor) / curve.height)
            slopes.append(slope / curve.height[:, None])
        return np.concatenate(values), np.concatenate(slopes)

    def _time(self, parameters: FloatArray, n: int, guess: float) -> float:
        settings = self._settings

        def enough(time: float) -> bool:
            return bool(self._ratios(parameters, n, time).min() >= 1)

        high = guess
        while not enough(high):
            high *= settings.wider
            if high > settings.largest_time * guess:
                return math.inf
        low = high / settings.wider
        while enough(low):
            low, high = low / settings.wider, low
        while high > low * (1 + settings.time_accuracy):
            middle = math.sqrt(low * high)
            low, high = (low, middle) if enough(middle) else (middle, high)
        return high


def _thinned(curve: HalfProfile, floor: float, settings: SearchSettings) -> HalfProfile:
    """A few points: equal steps of the logarithm of the height, and of the loss."""
    kept = curve.height > floor
    loss, height = curve.loss[kept], curve.height[kept]
    decay = -np.log(height)
    by_height = np.searchsorted(decay, np.linspace(decay[0], decay[-1], settings.points))
    by_loss = np.searchsorted(loss, np.linspace(0.0, loss[-1], settings.linear_points))
    chosen = np.unique(np.minimum(np.concatenate((by_height, by_loss)), loss.size - 1))
    return HalfProfile(loss[chosen], height[chosen], curve.limit)
