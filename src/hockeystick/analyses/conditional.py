"""`conditional`: steps composed as if independent, given what the earlier ones may have revealed.

Sampling_free_matrix_allocation, Algorithm 4 and Lemma 4.1, with the errata. Outside a bad event no
output so far says much about the bin of the example, and each step is dominated by a fixed random
shift with Gaussian noise; those are composed like any mechanisms, and the probability of the bad
event is added to delta. It is bounded by a sum: over the steps, over the bins above the lowest
level, and over both kinds of noise that the bound rests on. (The paper takes the largest bound of
an epoch for all its steps and charges its probability once; that is refuted, not only unproven.)

All steps of a segment share one threshold for the odds, the largest for which the sum of the tails
is within the segment's part of the bad event. The first epoch, in which odds grow quickly, has
several segments, every later one is a single one. Which part of delta the bad event gets is
searched for every question. Both directions have thresholds of their own: the earlier outputs are
those of the run with the example for remove, and of the run without it for add.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple, cast

import numpy as np

from hockeystick._numerics.dominating_levels import dominating_levels
from hockeystick._numerics.envelope import law_of_prices, prices
from hockeystick._numerics.gaussian import quantile_of_tail
from hockeystick._numerics.law import FloatArray, Resolution, Side, reverse
from hockeystick._numerics.posterior_tails import Tails, posterior_tails
from hockeystick._numerics.search import bracket, minimize_around_grid
from hockeystick.analyses.method import Method, Request
from hockeystick.evaluation import Bounds, Direction
from hockeystick.expressions.base import Expression
from hockeystick.expressions.composed import compose
from hockeystick.expressions.discrete import Atoms
from hockeystick.expressions.shifts import random_shift
from hockeystick.guarantee import REFERENCE_DELTA, Analysis
from hockeystick.one_sided import upper_side
from hockeystick.pairs.mixtures import bin_mixture, missing_mixture
from hockeystick.plan import Plan
from hockeystick.profile import Profile
from hockeystick.sampling import BallsInBins
from hockeystick.subsampled_source import taking_part

__all__ = ["METHOD", "ConditionalBound", "Segment"]

# Segments of the first epoch.
FIRST_EPOCH = 8
# Thresholds are found to this relative precision, on the safe side; smaller ones are not searched.
THRESHOLD_PRECISION, SMALLEST_SHARE = 1e-3, 1e-12
# Products with a Gram matrix, in units of the budget: they are fast, and there are five of each.
PRODUCTS = 0.02
QUANTILES = (1.0, 3.0, 5.5, 9.0, 14.0, 20.0)
# Searches for the probability of the bad event run at this accuracy, from the best of these; in
# logs, relative to the delta asked for, and absolute where an epsilon is given.
SEARCH_ACCURACY, SEARCH_TOLERANCE = 0.02, 0.7
SHARES = (-7.0, -4.0, -2.0, -0.7, -0.1)
FAILURES = (-100.0, -50.0, -30.0, -20.0, -14.0, -9.0, -5.0, -2.0)
# The profile that stands for all: bad events of these probabilities, laws of this resolution.
PROFILE_FAILURES = (1e-20, 1e-12, REFERENCE_DELTA / 100, REFERENCE_DELTA, 1e-3)
PROFILE_RESOLUTION = Resolution(0.02, 1e-40, 12.0)


class Segment(NamedTuple):
    """Steps first <= n < last, which share a threshold."""

    first: int
    last: int


class Preview:
    """One look at one direction, a tenth of delta for the bad event: too large, but not by far."""

    has_formula = False

    def __init__(self, bound: ConditionalBound) -> None:
        self._bound = bound

    def epsilon_bounds(
        self, delta: float, *, directions: Sequence[Direction], accuracy: float
    ) -> Bounds:
        """At low accuracy."""
        return Bounds(0.0, self._bound.epsilon_at(delta / 10, delta, directions[0], 0.1))

    def delta_bounds(
        self, epsilon: float, *, directions: Sequence[Direction], accuracy: float
    ) -> Bounds:
        """As if delta were 1e-6 or less."""
        return Bounds(0.0, self._bound.delta_at(1e-7, epsilon, directions[0], 0.1))

    def as_profile(self) -> Profile:
        """That of the bound."""
        return self._bound.as_profile()


class ConditionalBound:
    """The best bound over all probabilities of the bad event."""

    has_formula = False

    def __init__(self, levels: FloatArray) -> None:
        """`levels` holds what each bin adds in each step, in units of the noise."""
        self.levels = levels
        self.segments = _segments(*levels.shape)
        self._tails = cache(self._compute_tails)
        self.composed = cache(self._compose)
        self._found: dict[tuple[float, Direction], tuple[float, float]] = {}

    def epsilon_bounds(
        self, delta: float, *, directions: Sequence[Direction], accuracy: float
    ) -> Bounds:
        """The best share of delta for the bad event, in each direction."""
        return Bounds(0.0, max(self._epsilon(delta, d, accuracy) for d in directions))

    def delta_bounds(
        self, epsilon: float, *, directions: Sequence[Direction], accuracy: float
    ) -> Bounds:
        """The best probability of the bad event, in each direction."""
        return Bounds(0.0, max(self._delta(epsilon, d, accuracy) for d in directions))

    def as_profile(self) -> Profile:
        """The convex envelope of the bounds for several bad events, in both directions."""
        remove, add = self._prices("remove"), self._prices("add")
        loss = np.concatenate((-add[0][:0:-1], remove[0]))
        centre = min(remove[1][0], add[1][0])
        price = np.concatenate((add[1][:0:-1], [centre], remove[1][1:]))
        return Profile(Atoms(law_of_prices(loss, np.minimum(price, 1.0))))

    def thresholds(self, direction: Direction, failure: float) -> list[float]:
        """For each segment the y with which X_i > y |B_i| throughout, but for the bad event."""
        tails = self._tails(direction, _significance(failure, self.levels.shape[0]))
        share = failure / self.levels.shape[0]
        return [
            _threshold(tails.between(*segment), share * (segment.last - segment.first))
            for segment in self.segments
        ]

    def epsilon_at(
        self, failure: float, delta: float, direction: Direction, accuracy: float
    ) -> float:
        """epsilon(delta) with a bad event of the given probability."""
        source = upper_side(Profile(self.composed(direction, failure)))
        left = delta - failure
        return source.epsilon_bounds(left, directions=(direction,), accuracy=accuracy).upper

    def delta_at(
        self, failure: float, epsilon: float, direction: Direction, accuracy: float
    ) -> float:
        """delta(epsilon) with a bad event of the given probability."""
        source = upper_side(Profile(self.composed(direction, failure)))
        bounds = source.delta_bounds(epsilon, directions=(direction,), accuracy=accuracy)
        return min(1.0, bounds.upper + failure)

    def best_failure(self, delta: float, direction: Direction, accuracy: float) -> float:
        """The probability of the bad event that suits this delta."""
        coarse = max(SEARCH_ACCURACY, accuracy)
        share = minimize_around_grid(
            lambda x: self.epsilon_at(delta * math.exp(x), delta, direction, coarse),
            SHARES,
            tolerance=SEARCH_TOLERANCE,
        )
        return delta * math.exp(share)

    def explain(
        self, *, delta: float | None, epsilon: float | None, directions: Sequence[Direction]
    ) -> dict[str, object]:
        """The direction and the probability of the bad event behind the last such number."""
        asked = delta if delta is not None else epsilon
        assert asked is not None
        found = {d: self._found[asked, d] for d in directions if (asked, d) in self._found}
        if not found:
            return {}
        worse = max(found, key=lambda direction: found[direction][0])
        return {"direction": worse, "bad_event": found[worse][1], "segments": len(self.segments)}

    def _epsilon(self, delta: float, direction: Direction, accuracy: float) -> float:
        failure = self.best_failure(delta, direction, accuracy)
        epsilon = self.epsilon_at(failure, delta, direction, accuracy)
        self._found[delta, direction] = (epsilon, failure)
        return epsilon

    def _delta(self, epsilon: float, direction: Direction, accuracy: float) -> float:
        coarse = max(SEARCH_ACCURACY, accuracy)
        failure = minimize_around_grid(
            lambda x: self.delta_at(math.exp(x), epsilon, direction, coarse),
            FAILURES,
            tolerance=SEARCH_TOLERANCE,
        )
        delta = self.delta_at(math.exp(failure), epsilon, direction, accuracy)
        self._found[epsilon, direction] = (delta, math.exp(failure))
        return delta

    def _compose(self, direction: Direction, failure: float) -> Expression:
        """The product of all steps outside a bad event of the given probability."""
        factors = []
        for segment, share in zip(self.segments, self.thresholds(direction, failure), strict=True):
            levels, weights = dominating_levels(self.levels[slice(*segment)], share)
            factors.append(
                (random_shift(levels.tolist(), weights.tolist()), segment.last - segment.first)
            )
        return compose(factors)

    def _compute_tails(self, direction: Direction, quantile: float) -> Tails:
        return posterior_tails(self.levels, present=direction == "remove", quantile=quantile)

    def _prices(self, direction: Direction) -> tuple[FloatArray, FloatArray]:
        """Bounds on delta at losses from 0 up, the smallest over the bad events."""
        curves = []
        for failure in PROFILE_FAILURES:
            law = self.composed(direction, failure).law(Side.UPPER, PROFILE_RESOLUTION)
            curves.append((law if direction == "remove" else reverse(law), failure))
        loss = np.unique(np.concatenate([law.loss[law.loss > 0] for law, _ in curves] + [[0.0]]))
        loss = np.append(loss[:: max(1, loss.size // 2000)], loss[-1])
        loss = np.unique(np.append(loss, 0.0))
        return loss, np.min([prices(law, loss) + failure for law, failure in curves], axis=0)


def _segments(steps: int, bins: int) -> tuple[Segment, ...]:
    """The first epoch in several parts, every later one whole."""
    epoch = min(bins, steps)
    cuts = np.unique(np.linspace(0, epoch, FIRST_EPOCH + 1).round().astype(int)).tolist()
    cuts += [*range(2 * epoch, steps, epoch), steps] if steps > epoch else []
    return tuple(Segment(*pair) for pair in itertools.pairwise(cuts))


def _significance(failure: float, steps: int) -> float:
    """Where the weights of the bound are chosen, in standard deviations; one of few, to be shared.

    Any choice is valid, and near the best one it does not matter much.
    """
    wanted = quantile_of_tail(min(failure / steps, 0.3))
    return min(QUANTILES, key=lambda quantile: abs(quantile - wanted))


def _threshold(tails: Tails, failure: float) -> float:
    """The largest y in (0, 1] found with a failure of at most the one given; 0 if there is none."""
    if tails.failure(1.0) <= failure:
        return 1.0

    def holds(log_share: float) -> bool:
        return tails.failure(math.exp(log_share)) <= failure

    lowest = math.log(SMALLEST_SHARE)
    if not holds(lowest):
        return 0.0
    found = bracket(holds, 0.0, lowest, tolerance=THRESHOLD_PRECISION / 10)
    return math.exp(found[1])


def _cost(plan: Plan) -> float:
    """For each step, for each bin above the lowest level: products with a Gram matrix."""
    bins = min(cast("BallsInBins", plan.sampling).bins, plan.steps)
    return PRODUCTS * plan.steps * min(plan.strategy.bands, bins) * bins**2


def _analyse(request: Request) -> Analysis:
    """O(steps b^2) for each bin above the lowest level, and about thirty compositions."""
    mixture = bin_mixture(request.plan, request.noise_multiplier)
    bound = ConditionalBound(mixture.levels())
    return Analysis(
        METHOD.name,
        METHOD.kind,
        taking_part(bound, mixture.share),
        tight=False,
        preview=taking_part(Preview(bound), mixture.share),
        explain=bound.explain,
    )


METHOD = Method(
    name="conditional",
    kind="proven",
    summary="steps composed given bounded odds of the bin, plus the chance that they are not",
    objection=missing_mixture,
    analyse=_analyse,
    second_to="profile",
    cost=_cost,
)
