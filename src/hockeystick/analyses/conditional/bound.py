"""The best bound of conditional composition over all probabilities of the bad event.

[SchuchardtKalinin26, Theorem 4.6], with tails that are summed over the steps of a segment.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from hockeystick._numerics.envelope import deltas
from hockeystick._numerics.gaussian import quantile_of_tail
from hockeystick._numerics.law import FloatArray, Resolution, Side, reverse
from hockeystick._numerics.search import minimize_around_grid, minimize_on_interval
from hockeystick.analyses.conditional.odds import Weights, dominating_levels
from hockeystick.analyses.conditional.posterior_tails import (
    DEFAULT_WEIGHTS,
    Tails,
    posterior_tails,
)
from hockeystick.bounds import Bound, UpperBound, largest
from hockeystick.bounds.profiles import DeltaCurve, profile_of_deltas, upper_side
from hockeystick.guarantee import REFERENCE_DELTA
from hockeystick.profile import Profile
from hockeystick.profile.expressions import Expression, Factor
from hockeystick.profile.expressions.composed import compose
from hockeystick.profile.expressions.mechanisms import GaussianPair, random_shift
from hockeystick.profile.resolution import Direction

__all__ = ["ConditionalBound", "ConditionalSearch", "Segment"]

# A shift that dominates none: where no step adds anything.
SMALLEST_SHIFT = 1e-9
# The profile that stands for all requests: bad events from negligible ones to those that suit a
# large delta, and laws whose tails are nothing beside any of them.
PROFILE_FAILURES = (1e-20, 1e-12, REFERENCE_DELTA / 100, REFERENCE_DELTA, 1e-3)
PROFILE_RESOLUTION = Resolution(0.02, 1e-40, 12.0)


@dataclass(frozen=True)
class ConditionalSearch:
    """How segments, thresholds and bad events are chosen; every choice gives a valid bound.

    Attributes
    ----------
    first_epoch, later_epochs
        Segments of the first epoch, in which odds grow quickly, and at most of all later ones; each
        is one more factor of a composition.
    threshold_precision, smallest_share
        Thresholds are found to this relative precision, on the safe side, and are not searched
        below the share, where the levels would be those of a known bin.
    quantiles
        Where weights are chosen, in standard deviations: few, so that requests share them.
    accuracy, estimate_accuracy
        Of the numbers that the search compares, and of `coarse_epsilon`.
    share_tolerance, failure_tolerance
        Of the logarithms that are searched: the bounds are flat around their minima.
    log_shares
        Where the search begins if a delta is given: log of the bad event over delta.
    log_failures
        What is tried in turn if an epsilon is given: log of the bad event.
    negligible
        A bad event that is this small beside delta has nothing left to give.
    """

    first_epoch: int = 8
    later_epochs: int = 32
    threshold_precision: float = 1e-3
    smallest_share: float = 1e-12
    quantiles: tuple[float, ...] = (1.0, 3.0, 5.5, 9.0, 14.0, 20.0)
    accuracy: float = 0.02
    estimate_accuracy: float = 0.1
    share_tolerance: float = 0.7
    failure_tolerance: float = 0.05
    log_shares: tuple[float, ...] = (-7.0, -4.0, -2.0, -0.7, -0.1)
    log_failures: tuple[float, ...] = (
        *(-1.5, -4.0, -7.0, -10.0, -14.0, -19.0),
        *(-26.0, -36.0, -50.0, -75.0, -110.0),
    )
    negligible: float = 0.02


DEFAULT_SEARCH = ConditionalSearch()


class Segment(NamedTuple):
    """Steps first <= n < last, which share a threshold."""

    first: int
    last: int


class ConditionalBound(Bound):
    """The best bound over all probabilities of the bad event."""

    def __init__(
        self,
        levels: Callable[[], FloatArray],
        *,
        weights: Weights = DEFAULT_WEIGHTS,
        by_bin: bool = False,
        bad_event: float | None = None,
        settings: ConditionalSearch = DEFAULT_SEARCH,
    ) -> None:
        """`levels` gives what each bin adds in each step, in units of the noise.

        It is called when the bound is evaluated for the first time. `weights` and `by_bin` are
        those of `posterior_tails`; a `bad_event` is not searched but has this probability.
        """
        self._make_levels = levels
        self._weights, self._by_bin, self._bad_event = weights, by_bin, bad_event
        self._settings = settings
        # Not `functools.cache`: it would keep large arrays alive in a cycle.
        self._tails: dict[tuple[Direction, float], Tails] = {}
        self._composed: dict[tuple[Direction, float], Expression] = {}

    @cached_property
    def levels(self) -> FloatArray:
        """What each bin (a column) adds in each step (a row), in units of the noise."""
        return self._make_levels()

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        """Steps that share a threshold."""
        steps, bins = self.levels.shape
        return _segments(steps, bins, self._settings)

    def epsilon(
        self, delta: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """The best share of delta for the bad event, in each direction."""
        return largest(self._epsilon(delta, d, accuracy) for d in directions)

    def delta(
        self, epsilon: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """The best probability of the bad event, in each direction."""
        return largest(self._delta(epsilon, d, accuracy) for d in directions)

    def coarse_epsilon(self, delta: float, *, directions: Sequence[Direction]) -> float:
        """One direction, a tenth of delta for the bad event, at low accuracy."""
        delta = min(delta, 0.5)
        failure = delta / 10 if self._bad_event is None else self._bad_event
        return self.epsilon_at(failure, delta, directions[0], self._settings.estimate_accuracy)

    def as_profile(self) -> Profile:
        """The convex envelope of the bounds for several bad events, in both directions."""
        return profile_of_deltas(self._delta_curve("remove"), self._delta_curve("add"))

    def thresholds(self, direction: Direction, failure: float) -> FloatArray:
        """For each segment, and each number of bins below, the y with which X_i > y |B_i|.

        That holds throughout, but for the bad event: the tails of all steps and bins add up to it,
        a union bound. The bins of a segment with equally many bins below share a y, and so much of
        the bad event as there are of them. The maximum over the steps of [SchuchardtKalinin26,
        Appendix E] is unsound (docs/errata.md).
        """
        tails = self._tails_at(direction, self._significance(failure))
        bins = self.levels.shape[1]
        ends = np.array([segment.last for segment in self.segments])
        group = np.searchsorted(ends, tails.step, side="right") * bins + tails.below.astype(int)
        if not group.size:
            return np.ones((ends.size, bins))
        names, group, count = np.unique(group, return_inverse=True, return_counts=True)
        found = np.ones(ends.size * bins)
        smallest, precision = self._settings.smallest_share, self._settings.threshold_precision
        parts = failure * count / count.sum()
        found[names] = tails.largest_shares(group, parts, smallest=smallest, precision=precision)
        result: FloatArray = found.reshape(ends.size, bins)
        return result

    def epsilon_at(
        self, failure: float, delta: float, direction: Direction, accuracy: float
    ) -> float:
        """epsilon(delta) with a bad event of the given probability."""
        if not failure < delta:
            return math.inf
        run = upper_side(Profile(self.composed(direction, failure)))
        return run.epsilon(delta - failure, directions=(direction,), accuracy=accuracy).value

    def delta_at(
        self, failure: float, epsilon: float, direction: Direction, accuracy: float
    ) -> float:
        """delta(epsilon) with a bad event of the given probability."""
        run = upper_side(Profile(self.composed(direction, failure)), negligible=failure)
        found = run.delta(epsilon, directions=(direction,), accuracy=accuracy)
        return min(1.0, found.value + failure)

    def best_failure(self, delta: float, direction: Direction, accuracy: float) -> float:
        """The probability of the bad event that suits this delta."""
        if self._bad_event is not None:
            return self._bad_event
        settings = self._settings
        coarse = max(settings.accuracy, accuracy)
        share = minimize_around_grid(
            lambda x: self.epsilon_at(delta * math.exp(x), delta, direction, coarse),
            settings.log_shares,
            tolerance=settings.share_tolerance,
        )
        return delta * math.exp(share)

    def _epsilon(self, delta: float, direction: Direction, accuracy: float) -> UpperBound:
        failure = self.best_failure(delta, direction, accuracy)
        epsilon = self.epsilon_at(failure, delta, direction, accuracy)
        return self._answer(epsilon, direction, failure)

    def _delta(self, epsilon: float, direction: Direction, accuracy: float) -> UpperBound:
        settings = self._settings
        coarse = max(settings.accuracy, accuracy)
        if self._bad_event is not None:
            found = self.delta_at(self._bad_event, epsilon, direction, accuracy)
            return self._answer(found, direction, self._bad_event)
        tried: list[tuple[float, float]] = []
        for log_failure in settings.log_failures:
            value = self.delta_at(math.exp(log_failure), epsilon, direction, coarse)
            tried.append((value, log_failure))
            # A smaller bad event makes the composition worse, and only that is left here.
            if math.exp(log_failure) < settings.negligible * value:
                break
        value, log_failure = min(tried)
        position = tried.index((value, log_failure))
        near = [at for _, at in tried[max(position - 1, 0) : position + 2]]
        refined = minimize_on_interval(
            lambda x: math.log(self.delta_at(math.exp(x), epsilon, direction, coarse)),
            min(near),
            max(near),
            tolerance=settings.failure_tolerance,
        )
        if self.delta_at(math.exp(refined), epsilon, direction, coarse) < value:
            log_failure = refined
        delta = self.delta_at(math.exp(log_failure), epsilon, direction, accuracy)
        return self._answer(delta, direction, math.exp(log_failure))

    def _answer(self, value: float, direction: Direction, failure: float) -> UpperBound:
        details = {"bad_event": failure, "segments": len(self.segments)}
        return UpperBound(value, direction, details)

    def composed(self, direction: Direction, failure: float) -> Expression:
        """The product of all steps outside a bad event of the given probability."""
        key = (direction, failure)
        if key not in self._composed:
            shares = self.thresholds(direction, failure)
            # Segments in which nothing is added reveal nothing, and have no law.
            pairs = zip(self.segments, shares, strict=True)
            parts = [self._steps(*pair) for pair in pairs if self.levels[slice(*pair[0])].any()]
            self._composed[key] = compose(parts or [(GaussianPair(SMALLEST_SHIFT), 1)])
        return self._composed[key]

    def _steps(self, segment: Segment, shares: FloatArray) -> Factor:
        """All steps of a segment, as one pair and how often it counts."""
        levels, weights = dominating_levels(self.levels[slice(*segment)], shares)
        return random_shift(levels.tolist(), weights.tolist()), segment.last - segment.first

    def _significance(self, failure: float) -> float:
        """Where the weights of the bound are chosen; any choice is valid."""
        wanted = quantile_of_tail(min(failure / self.levels.shape[0], 0.3))
        return min(self._settings.quantiles, key=lambda quantile: abs(quantile - wanted))

    def _tails_at(self, direction: Direction, quantile: float) -> Tails:
        key = (direction, quantile)
        if key not in self._tails:
            self._tails[key] = posterior_tails(
                self.levels,
                present=direction == "remove",
                quantile=quantile,
                weights=self._weights,
                by_bin=self._by_bin,
            )
        return self._tails[key]

    def _delta_curve(self, direction: Direction) -> DeltaCurve:
        """Bounds on delta at losses from 0 up, the smallest over the bad events."""
        curves = []
        failures = PROFILE_FAILURES if self._bad_event is None else (self._bad_event,)
        for failure in failures:
            law = self.composed(direction, failure).law(Side.UPPER, PROFILE_RESOLUTION)
            curves.append((law if direction == "remove" else reverse(law), failure))
        loss = np.unique(np.concatenate([law.loss[law.loss > 0] for law, _ in curves] + [[0.0]]))
        loss = np.append(loss[:: max(1, loss.size // 2000)], loss[-1])
        loss = np.unique(np.append(loss, 0.0))
        return loss, np.min([deltas(law, loss) + failure for law, failure in curves], axis=0)


def _segments(steps: int, bins: int, settings: ConditionalSearch) -> tuple[Segment, ...]:
    """The first epoch in several parts, every later one whole, or several of many together."""
    epoch = min(bins, steps)
    first = np.linspace(0, epoch, settings.first_epoch + 1).round()
    later = -(-(steps - epoch) // epoch)
    ends = epoch * np.linspace(1, 1 + later, min(later, settings.later_epochs) + 1).round()
    cuts = np.unique(np.minimum(np.concatenate((first, ends)), steps)).astype(int).tolist()
    return tuple(Segment(*pair) for pair in itertools.pairwise(cuts))
