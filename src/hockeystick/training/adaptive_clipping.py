"""Adaptive clipping: the clip norm follows a quantile of the gradients' norms.

It needs a noisy count of the gradients within the clip norm.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from hockeystick import _validate as check
from hockeystick.errors import InvalidParameter, UnsupportedPlan
from hockeystick.filters import Individual
from hockeystick.plan import Plan
from hockeystick.randomness import Key
from hockeystick.training.clip_rules import ClipRule, Flat, clip_rule

__all__ = [
    "AdaptiveClipping",
    "NormCount",
    "check_adaptive",
    "clipping_policy",
]

# The default noise of the count: this share of the expected batch, as in [Andrew21], but at least
# so many noise multipliers, so that gradients need 2 % more noise at most.
SHARE, LEAST_NOISE = 1 / 20, 2.5
# How far the clip norm may move from its start, as a factor: products stay finite.
FURTHEST = 2.0**40


@dataclass(frozen=True, kw_only=True)
class AdaptiveClipping:
    """The clip norm as a moving quantile of the norms [Andrew21, Algorithm 1].

    Given to a run in the place of `max_grad_norm`. Every step also releases a noisy count of the
    gradients within the clip norm. With F the fraction estimated from it, the next clip norm is
    clip * exp(-learning_rate * (F - quantile)): it falls where more gradients than wanted are
    within it. Sum and count are accounted together as the one Gaussian mechanism that they are:
    `noise_multiplier` of the run is that of both, and the sum has a little more noise. Needs
    independent noise. A filter is not needed, because noise is a fixed multiple of the clip norm.

    Parameters
    ----------
    start
        The clip norm of the first step.
    quantile
        The share of gradients that is to be within the clip norm.
    learning_rate
        How fast the clip norm moves.
    count_noise
        The standard deviation of the noise on the count, more than half the noise multiplier. By
        default a twentieth of the expected batch size, and at least 2.5 noise multipliers.

    Examples
    --------
    >>> import numpy as np
    >>> import hockeystick as hs
    >>> plan = hs.Plan(sampling=hs.Poisson(rate=0.5), steps=100)
    >>> run = hs.training.PrivateRun(
    ...     plan,
    ...     examples=1000,
    ...     dimension=1,
    ...     noise_multiplier=1.0,
    ...     max_grad_norm=hs.training.AdaptiveClipping(start=1.0),
    ...     rng=0,
    ... )
    >>> norms = np.linspace(2, 6, 1000)[:, None]
    >>> for _ in range(plan.steps):
    ...     gradient = run.step(lambda batch: norms[batch])
    >>> 3.8 < run.max_grad_norm < 4.2  # the median is 4
    True
    """

    start: float
    quantile: float = 0.5
    learning_rate: float = 0.2
    count_noise: float | None = None

    def __post_init__(self) -> None:
        for name in ("start", "learning_rate"):
            object.__setattr__(self, name, check.positive(name, getattr(self, name)))
        object.__setattr__(self, "quantile", check.probability("quantile", self.quantile))
        if self.count_noise is not None:
            noise = check.positive("count_noise", self.count_noise)
            object.__setattr__(self, "count_noise", noise)

    def noise_of_count(self, *, expected_batch_size: float, noise_multiplier: float) -> float:
        """The standard deviation of the noise on the count."""
        if self.count_noise is not None:
            return self.count_noise
        return max(expected_batch_size * SHARE, noise_multiplier * LEAST_NOISE)

    def updated(self, clip: float, fraction: float) -> float:
        """The next clip norm, from an estimate of the fraction of gradients within this one."""
        # The estimate is noisy and may be anything; a step moves by a factor of e at most.
        exponent = min(max(self.learning_rate * (self.quantile - fraction), -1.0), 1.0)
        return min(max(clip * math.exp(exponent), self.start / FURTHEST), self.start * FURTHEST)


def clipping_policy(
    max_grad_norm: float | AdaptiveClipping | None, clipping: Any, privacy_filter: object
) -> tuple[ClipRule, float | None, AdaptiveClipping | None]:
    """The rule of clipping, the clip norm at the start, and the policy if there is one.

    Refused with budgets of single examples, which are charged by their own norms, and with other
    rules than flat clipping, to which a quantile of the norms means nothing.
    """
    rule = clip_rule(clipping)
    if not isinstance(max_grad_norm, AdaptiveClipping):
        return rule, max_grad_norm, None
    if isinstance(privacy_filter, Individual):
        allowed = "a number with individual budgets, whose charges do not cover a count"
        raise InvalidParameter("max_grad_norm", allowed, max_grad_norm)
    if not isinstance(rule, Flat):
        raise InvalidParameter("max_grad_norm", "a number unless clipping is flat", max_grad_norm)
    return rule, max_grad_norm.start, max_grad_norm


def check_adaptive(policy: AdaptiveClipping | None, plan: Plan) -> None:
    """`UnsupportedPlan` with correlated noise, whose scale cannot change."""
    if policy is not None and plan.correlated:
        raise UnsupportedPlan(
            "Adaptive clipping changes the scale of the noise from step to step, which is proven "
            "for independent noise only: leave the strategy out of the plan, or give a number as "
            "max_grad_norm.",
            page="docs/adapting.md#adaptive-clipping",
        )


class NormCount:
    """Half of (gradients within the clip norm - others) plus noise, once for every step.

    The noise belongs to the coordinate after those of the gradients, in the same row and of the
    same key: it is drawn by whoever has the key, and independent of the noise of the gradients.
    With exact arithmetic a half is an integer number of lattice points, rounded down.
    """

    def __init__(
        self, plan: Plan, *, dimension: int, count_noise: float, resolution: int | None
    ) -> None:
        self._plan, self._dimension, self._count_noise = plan, dimension, count_noise
        self._resolution, self._half = resolution, 0
        if resolution is not None:
            # An example moves the integer by this at most, in noise of 2^resolution.
            self._half = math.floor(2.0**resolution / (2 * count_noise))
            if not self._half > 0:
                allowed = f"at most 2^{resolution - 1} with exact arithmetic"
                raise InvalidParameter("count_noise", allowed, count_noise)

    def released(self, excess: float, *, key: Key, step: int) -> float:
        """The noisy half of `excess`; `step`, counted from 0, is that of the noise's row."""
        exact = self._resolution is not None
        stream = self._plan.noise(
            self._dimension + 1,
            scale=1.0,
            dtype=np.float64,
            rng=key,
            coordinates=((self._dimension, self._dimension + 1),),
            arithmetic="exact" if exact else "float",
            resolution=self._resolution,
        )
        stream.forward(step)
        noise = next(stream)[0]
        if self._resolution is None:
            return excess / 2 + self._count_noise * float(noise)
        return (int(excess) * self._half + int(noise)) / (2 * self._half)
