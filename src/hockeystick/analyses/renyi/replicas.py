"""Renyi moments of b-min-sep sampling, without drawing samples: replica_moments.py for a plan.

They bound the remove direction. The moments of the add direction, E_Q[LR^(1 - a)], are no average
over replicas; that direction takes the better of `poisson-reduction` and `gaussian`.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from hockeystick._numerics.law import FloatArray, Resolution
from hockeystick._numerics.moments import PowerMoments
from hockeystick.analyses.renyi.moment_bound import RunMoments
from hockeystick.analyses.renyi.replica_moments import MinSepWalk, replica_moments
from hockeystick.errors import PrecisionError
from hockeystick.plan import Plan
from hockeystick.schemes import Renewal
from hockeystick.schemes.pairs import needs_gaussian, too_many_steps
from hockeystick.strategies import Strategy

__all__ = ["ReplicaMoments", "column_products", "missing_replicas"]

# Larger orders are not asked for: their cost grows with the power `separation` of the order.
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
        self._strategy = strategy
        self._renewal = renewal
        self._noise = noise_multiplier
        self._budget = budget

    def __call__(self, largest: int, *, reverse: bool, resolution: Resolution) -> RunMoments:
        """Of the remove direction; nothing is known about the other."""
        log = np.full(largest + 1, np.inf)
        log[:2] = 0.0
        if not reverse:
            known = self._log[: largest + 1]
            log[: known.size] = known
        return RunMoments(PowerMoments(log))

    @cached_property
    def _log(self) -> FloatArray:
        with np.errstate(all="ignore"):
            products = column_products(self._strategy, self._renewal.separation)
            pulls = products / self._noise / self._noise
        if not np.isfinite(pulls).all():
            raise PrecisionError(
                f"Noise multiplier {self._noise:g} is too small beside the strategy for "
                "floating point: no bound was computed.",
                lower=0.0,
                upper=math.inf,
            )
        walk = MinSepWalk(self._renewal.rate, pulls, self._renewal.warm_start)
        return replica_moments(walk, LARGEST_REPLICAS, self._budget).log


def column_products(strategy: Strategy, separation: int) -> FloatArray:
    """<column t, column t - d> for d below the separation, zero where there is no such column."""
    steps, bands = strategy.steps, strategy.bands
    result = np.zeros((steps, separation))
    coefficients = strategy.coefficients
    matrix = strategy.to_matrix() if coefficients is None else None
    for d in range(min(bands, steps)):
        if matrix is not None:
            result[d:, d] = np.einsum("ij,ij->j", matrix[:, d:], matrix[:, : steps - d])
            continue
        assert coefficients is not None
        # Column t ends after n - t entries, the last row of the run.
        sums = np.cumsum(coefficients[: bands - d] * coefficients[d:])
        entries = np.minimum(steps - np.arange(d, steps), sums.size)
        result[d:, d] = sums[entries - 1]
    return result
