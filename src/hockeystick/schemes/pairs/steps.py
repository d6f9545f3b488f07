"""The profile of one participation, as plans and their noise define it."""

from __future__ import annotations

import math

from hockeystick._validate import LARGEST_NOISE, SMALLEST_NOISE
from hockeystick.errors import InvalidParameter, PrecisionError
from hockeystick.plan import Plan
from hockeystick.profile import Profile
from hockeystick.schemes.pairs.registry import Step

__all__ = ["gaussian_step", "step_of"]


def step_of(plan: Plan, noise_multiplier: float | None) -> Step:
    """One participation. A plan with a mechanism of its own has columns of length 1 only."""
    mechanism = plan.mechanism
    if mechanism is not None:
        return lambda length: mechanism
    assert noise_multiplier is not None
    return lambda length: gaussian_step(noise_multiplier, length)


def gaussian_step(noise_multiplier: float, length: float) -> Profile:
    """The Gaussian mechanism on columns of the given length.

    `PrecisionError` where it is too small beside them to compute with, `InvalidParameter` where it
    is too large.
    """
    low, high = SMALLEST_NOISE * length, LARGEST_NOISE * length
    if not noise_multiplier >= low:
        raise PrecisionError(
            f"Noise multiplier {noise_multiplier:g} is too small for floating point beside columns "
            f"of length {length:g}: no bound was computed.",
            lower=0.0,
            upper=math.inf,
        )
    if not noise_multiplier <= high:
        allowed = f"at most {high:g} for columns of length {length:g}"
        raise InvalidParameter("noise_multiplier", allowed, noise_multiplier)
    return Profile.gaussian(noise_multiplier=noise_multiplier / length)
