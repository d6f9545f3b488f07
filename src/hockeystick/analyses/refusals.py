"""Sampling schemes that are refused, and why."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from hockeystick._numerics.special import log_ndtr
from hockeystick.plan import Plan
from hockeystick.profile import Profile
from hockeystick.schemes import Sampling, Shuffle

__all__ = ["refusal", "shuffle_epsilon_lower_bound"]

SHOWN_DELTA = 1e-6


def refusal(plan: Plan, noise_multiplier: float | None) -> str | None:
    """Why plans with this scheme are not priced; None if they are."""
    reason = _REASONS.get(type(plan.sampling))
    return None if reason is None else reason(plan, noise_multiplier)


def shuffle_epsilon_lower_bound(*, noise_multiplier: float, batches: int, delta: float) -> float:
    """A proven lower bound on epsilon(delta) of one epoch of shuffled batches.

    All other examples pull in the opposite direction of the one that differs, so its batch stands
    out by 2 against 1 (zero-out adjacency): P averages N(2 e_i, s^2 I), Q averages N(e_i, s^2 I).
    Any event bounds epsilon from below, here {max_i y_i >= c}, the best c of a grid (Chua et al.
    2024, "How private are DP-SGD implementations?").
    """
    s = noise_multiplier
    c = np.linspace(-2.0, 3 + 12 * s, 4000)
    others = (batches - 1) * log_ndtr(c / s)
    p = -np.expm1(log_ndtr((c - 2) / s) + others)
    q = -np.expm1(log_ndtr((c - 1) / s) + others)
    useful = (p > delta) & (q > 0)
    if not useful.any():
        return 0.0
    return max(0.0, float((np.log(p[useful] - delta) - np.log(q[useful])).max()))


def _shuffle(plan: Plan, noise_multiplier: float | None) -> str:
    text = (
        "Shuffled batches of fixed size have no tight privacy analysis, and accounting them as "
        "Poisson batches can claim too little"
    )
    if noise_multiplier is not None and math.isfinite(noise_multiplier):
        lower = shuffle_epsilon_lower_bound(
            noise_multiplier=noise_multiplier, batches=plan.steps, delta=SHOWN_DELTA
        )
        step = Profile.gaussian(noise_multiplier=noise_multiplier)
        claimed = step.subsample(1 / plan.steps).self_compose(plan.steps).epsilon(SHOWN_DELTA)
        text += (
            f": even as a single epoch this run has epsilon >= {lower:.3g} at delta = "
            f"{SHOWN_DELTA:g}, where the Poisson formula says {claimed:.3g}"
        )
    return text + (
        "; use BallsInBins(bins=steps per epoch) or RandomAllocation(picks=1, out_of=steps per "
        "epoch), which also use every example once per epoch."
    )


_REASONS: dict[type[Sampling], Callable[[Plan, float | None], str]] = {Shuffle: _shuffle}
