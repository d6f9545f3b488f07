"""The profile of one participation, as plans and their noise define it."""

from __future__ import annotations

from hockeystick.pairs.registry import Step
from hockeystick.plan import Plan
from hockeystick.profile import Profile

__all__ = ["step_of"]


def step_of(plan: Plan, noise_multiplier: float | None) -> Step:
    """One participation. A plan with a mechanism of its own has columns of length 1 only."""
    mechanism = plan.mechanism
    if mechanism is not None:
        return lambda length: mechanism
    assert noise_multiplier is not None
    return lambda length: Profile.gaussian(noise_multiplier=noise_multiplier / length)
