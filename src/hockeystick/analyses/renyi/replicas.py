"""Moments of b-min-sep sampling without sampling: replicas that attract each other.

For P the law of C x + z and Q that of z, z ~ N(0, s^2 I), x a random participation vector,

    E_Q[LR^a] = E exp(sum_(r < s) <C x_r, C x_s> / s^2)

over `a` independent copies of x. Columns of C that belong to steps `bands` or more apart do not
meet, so with bands <= separation a replica that joins interacts with those that join at the same
step or that are still excluded, and the ages of the excluded ones are state enough. The replicas
are alike, so only how many have which age counts: C(a + b - 1, a) states for the separation b, and
C(a + b, a) products for each step. The walk goes backwards from the end of the run and stops once
values grow in proportion, so the cost hardly depends on the number of steps.

Orders beyond the budget follow fewer replicas than they have: those that have rested longest are
let go, and what that leaves out is charged (schemes/simulation/replicas.py).

They bound the remove direction. The moments of the add direction, E_Q[LR^(1 - a)], are no average
over replicas; but adding never leaks more than removing (bounds/combined.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

import numpy as np
from numpy.typing import NDArray

from hockeystick._numerics.law import FloatArray, Resolution
from hockeystick._numerics.moments import PowerMoments, rounded_up
from hockeystick.analyses.renyi.bound import RunMoments
from hockeystick.errors import PrecisionError
from hockeystick.plan import Plan
from hockeystick.schemes import Renewal
from hockeystick.schemes.pairs import needs_gaussian, too_many_steps
from hockeystick.schemes.simulation import Replicas
from hockeystick.schemes.simulation.replicas import ReplicaSource, column_products, number_of_states
from hockeystick.strategies import Strategy

__all__ = [
    "MinSepWalk",
    "ReplicaMoments",
    "missing_replicas",
    "moments_by_order",
    "replica_moments",
]

# Products of weights for each one that the budget counts: here they lie side by side in memory.
PRODUCTS = 8.0
# Steps that the first order is expected to take, in separations; later ones take as many as the
# one before.
SETTLES_AFTER = 20
# States times ages that are kept at once: 160 megabytes.
MOST_COUNTS = 2e7
# More different steps than these are replaced by as many blocks, each with its largest inner
# products: weights are computed anew for every block.
MOST_BLOCKS = 64


@dataclass(frozen=True, eq=False)
class MinSepWalk:
    """b-min-sep sampling and what participations gain.

    pulls[t, d] = <column t, column t - d> / s^2, zero where t < d; d = 0, ..., separation - 1.
    """

    rate: float
    pulls: FloatArray
    warm: bool

    @property
    def separation(self) -> int:
        """How far apart participations are at least."""
        return int(self.pulls.shape[1])

    def blocks(self) -> list[tuple[FloatArray, int]]:
        """Runs of steps that are alike, the last ones first; see MOST_BLOCKS.

        From a cold start nobody joined before the run began, so it does not matter what such a
        participation would attract.
        """
        pulls = self._alike()
        starts = _starts_of_runs(pulls)
        if starts.size > MOST_BLOCKS:
            starts = np.linspace(0, pulls.shape[0], MOST_BLOCKS, endpoint=False).astype(np.int64)
        largest = np.maximum.reduceat(pulls, starts, axis=0)
        lengths = np.diff(starts, append=pulls.shape[0])
        return list(zip(largest[::-1], lengths[::-1].tolist(), strict=True))

    @property
    def kinds(self) -> int:
        """How many runs of steps that are alike there are."""
        return int(_starts_of_runs(self._alike()).size)

    def _alike(self) -> FloatArray:
        pulls = self.pulls.copy()
        for d in range(1, min(self.separation, pulls.shape[0])):
            if not self.warm:
                pulls[:d, d] = pulls[d, d]
        return pulls


def replica_moments(walk: MinSepWalk, largest: int, budget: float) -> PowerMoments:
    """Upper bounds on log E_Q[LR^a], as far as the budget goes; infinite for the orders beyond.

    Exact up to rounding, which is upwards, while the steps are of at most 64 kinds.
    """
    log = np.full(largest + 1, np.inf)
    log[:2] = 0.0
    for order, found in zip(range(2, largest + 1), moments_by_order(walk, budget), strict=False):
        log[order] = found
    return PowerMoments(rounded_up(log))


def moments_by_order(walk: MinSepWalk, budget: float) -> Iterator[float]:
    """log E_Q[LR^a] for a = 2, 3, ..., until the budget is spent or floating point ends."""
    blocks = walk.blocks()
    left = PRODUCTS * budget
    steps = float(min(walk.pulls.shape[0], SETTLES_AFTER * walk.separation))
    for order in count(2):
        products = math.comb(order + walk.separation, order)
        counts = math.comb(order + walk.separation - 1, order) * walk.separation
        if products * steps > left or counts > MOST_COUNTS:
            return
        found, made = _moment(walk, blocks, order)
        # Fresh weights take about as long as ten steps with them.
        steps = made + 10.0 * len(blocks)
        left -= products * steps
        if not math.isfinite(found):
            return
        yield found


def _moment(
    walk: MinSepWalk, blocks: list[tuple[FloatArray, int]], order: int
) -> tuple[float, int]:
    """log E_Q[LR^order], and the steps that it took."""
    if walk.separation == 1:
        return _without_exclusion(walk.rate, blocks, order), 1
    from hockeystick.analyses.renyi.replica_kernels import backwards, enumerate_states, fill_weights

    ages = walk.separation - 1
    counts, following, starts = enumerate_states(order, ages, _ways(order + ages))
    weights = np.empty(starts[-1])
    value = np.ones(following.size)
    log, made = 0.0, 0
    with np.errstate(over="ignore"):
        for pulls, length in blocks:
            fill_weights(weights, counts, starts, walk.rate, pulls)
            grown, more = backwards(weights, following, starts, value, length)
            log, made = log + grown, made + more
            if not math.isfinite(log):
                return math.inf, made
    # Sums of products in every step, and the sum of their logs.
    log += (walk.pulls.shape[0] * (order + 4) + made * log) * 2.0**-53
    if walk.warm:
        log += _mean_at_start(walk.rate, counts, value, order)
    return log, made


def _mean_at_start(rate: float, counts: NDArray[np.int64], value: FloatArray, order: int) -> float:
    """log of the mean value when every replica is excluded as often as in the long run."""
    ages = counts.shape[1]
    excluded = rate / (1 + ages * rate)
    joined = counts.sum(axis=1)
    log_factorial = np.array([math.lgamma(k + 1.0) for k in range(order + 1)])
    log_chance = (
        log_factorial[order]
        - log_factorial[counts].sum(axis=1)
        - log_factorial[order - joined]
        + joined * math.log(excluded)
        - (order - joined) * math.log1p(ages * rate)
    )
    exponents = log_chance + np.log(value)
    top = float(exponents.max())
    largest = 3 * log_factorial[order] - order * math.log(excluded) + 50
    return top + math.log(float(np.exp(exponents - top).sum())) + float(largest) * 2.0**-51


def _without_exclusion(rate: float, blocks: list[tuple[FloatArray, int]], order: int) -> float:
    """Separation 1: independent steps."""
    k = np.arange(order + 1.0)
    log_ways = np.array([math.log(math.comb(order, j)) for j in range(order + 1)])
    with np.errstate(divide="ignore", invalid="ignore"):
        log_rest = np.where(k < order, (order - k) * np.log1p(-rate), 0.0)
    total = 0.0
    for pulls, length in blocks:
        exponents = log_ways + k * math.log(rate) + log_rest + pulls[0] * k * (k - 1) / 2
        top = float(exponents.max())
        total += length * (top + math.log(float(np.exp(exponents - top).sum())))
    return total + sum(length for _, length in blocks) * (order + 50) * 2.0**-50


def _starts_of_runs(rows: FloatArray) -> NDArray[np.int64]:
    """Where rows differ from the one before."""
    different = (rows[1:] != rows[:-1]).any(axis=1)
    return np.flatnonzero(np.concatenate(([True], different)))


def _ways(most: int) -> NDArray[np.int64]:
    """C(n, i) for n and i up to `most`; what is too large for any state is cut off."""
    table = np.zeros((most + 1, most + 1), np.int64)
    table[:, 0] = 1
    for n in range(1, most + 1):
        table[n, 1:] = np.minimum(table[n - 1, 1:] + table[n - 1, :-1], 2**61)
    return table


# Orders beyond those that are followed in full, and their states: about a second for all.
FURTHER_ORDERS, FURTHER_STATES = 8, 2**16
# Larger orders are not computed: their cost grows with the power `separation` of the order.
LARGEST_REPLICAS = 256


def missing_replicas(plan: Plan, renewal: Renewal) -> str | None:
    """Why replicas cannot be followed, in one clause; None if they can."""
    bands, separation = plan.strategy.bands, renewal.separation
    if bands > separation:
        return f"it needs at most separation={separation} bands, this strategy has {bands}"
    return too_many_steps(plan) or needs_gaussian(plan)


class ReplicaMoments:
    """Moments by order for one plan, computed once, as far as the budget goes.

    An example that stops after `max_participations` is bounded by one that does not: the exponents
    of the moments grow with every participation.
    """

    def __init__(
        self, strategy: Strategy, renewal: Renewal, noise_multiplier: float, budget: float
    ) -> None:
        self._source = ReplicaSource(strategy, renewal)
        self._renewal = renewal
        self._noise = noise_multiplier
        self._budget = budget
        self._known: Iterator[float] | None = None
        self._exact: list[float] = [0.0, 0.0]
        self._further: list[float] = []
        self._complete = True

    def __call__(self, largest: int, *, reverse: bool, resolution: Resolution) -> RunMoments:
        """Of the remove direction; nothing is known about the other."""
        log = np.full(largest + 1, np.inf)
        log[:2] = 0.0
        if not reverse:
            self._compute(min(largest, LARGEST_REPLICAS))
            exact = rounded_up(np.array(self._exact[: largest + 1]))
            known = np.concatenate((exact, self._further))[: largest + 1]
            log[: known.size] = known
        return RunMoments(PowerMoments(log), exact=self._complete and np.isfinite(log).all())

    def _compute(self, largest: int) -> None:
        """Orders in turn: as far as the budget goes, then some that follow fewer replicas."""
        if self._known is None:
            walk = self._walk()
            self._complete = walk.kinds <= MOST_BLOCKS
            self._known = moments_by_order(walk, self._budget)
        while len(self._exact) <= largest:
            found = next(self._known, None)
            if found is None:
                break
            self._exact.append(found)
        first = len(self._exact)
        last = min(largest, first + FURTHER_ORDERS - 1)
        while first + len(self._further) <= last and math.inf not in self._further:
            self._complete = False
            order = first + len(self._further)
            replicas = Replicas(order, self._followed(order), self._noise)
            self._further.append(self._source.log_largest(replicas))

    def _walk(self) -> MinSepWalk:
        strategy, renewal = self._source.strategy, self._renewal
        with np.errstate(all="ignore"):
            pulls = column_products(strategy, renewal.separation) / self._noise / self._noise
        if not np.isfinite(pulls).all():
            raise PrecisionError(
                f"Noise multiplier {self._noise:g} is too small beside the strategy for "
                "floating point: no bound was computed.",
                lower=0.0,
                upper=math.inf,
            )
        return MinSepWalk(renewal.rate, pulls, renewal.warm_start)

    def _followed(self, order: int) -> int:
        """As many replicas as the states allow."""
        separation = self._renewal.separation
        fitting = (
            number
            for number in range(order, 0, -1)
            if number_of_states(number, separation) <= FURTHER_STATES
        )
        return next(fitting, 1)
