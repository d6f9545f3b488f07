"""Schedules of sampled Gaussian steps, accounted for as if they had been fixed beforehand."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from hockeystick.profile import Profile
from hockeystick.profile.expressions.composed import compose

__all__ = ["MOST_SETTINGS", "EqualSteps", "merged", "profile_of", "recorded_steps"]

# More settings than this are rounded together: composing one more takes hundredths of a second.
MOST_SETTINGS = 64
# Relative widths of the rounding; the first one that leaves few settings is used.
WIDTHS = (1e-3, 5e-3, 0.02, 0.1, 0.5)


class EqualSteps(NamedTuple):
    """Equal steps of a schedule of Poisson-sampled Gaussians.

    Attributes
    ----------
    rate : float
        Probability with which each example takes part in a step.
    noise_multiplier : float
        Standard deviation of the noise over the largest contribution.
    steps : int
        How many such steps.

    Examples
    --------
    >>> import hockeystick as hs
    >>> hs.fdp.EqualSteps(0.01, 1.5, 150)
    EqualSteps(rate=0.01, noise_multiplier=1.5, steps=150)
    """

    rate: float
    noise_multiplier: float
    steps: int = 1


def recorded_steps(request: Mapping[str, object]) -> EqualSteps | None:
    """A recorded request as sampled Gaussian steps; None if it is something else.

    It has a rate, a noise multiplier s, perhaps a clip scale c, a sensitivity a and a number of
    steps; the noise over the largest contribution is s/(ac).
    """
    complete = {"clip_scale": 1.0, "sensitivity": 1.0, "steps": 1, **request}
    rate, noise, scale, sensitivity, steps = (
        _number(complete, name)
        for name in ("rate", "noise_multiplier", "clip_scale", "sensitivity", "steps")
    )
    reach = scale * sensitivity
    if not (0 < rate <= 1 and 0 < noise < math.inf and 0 < reach < math.inf and steps >= 1):
        return None
    return EqualSteps(rate, noise / reach, int(steps))


def merged(parts: Iterable[EqualSteps]) -> tuple[EqualSteps, ...]:
    """Each setting once; the order of fixed steps does not matter."""
    counts: Counter[tuple[float, float]] = Counter()
    for rate, noise, steps in parts:
        counts[rate, noise] += steps
    return tuple(EqualSteps(rate, noise, steps) for (rate, noise), steps in counts.items())


def profile_of(schedule: Sequence[EqualSteps], *, others: Sequence[Profile] = ()) -> Profile | None:
    """The composition of a schedule that is fixed in advance; None for an empty one.

    An upper bound: many settings are rounded together, rates up and noise down. Cost: grows with
    the number of settings, at most about 64 of which are composed.
    """
    parts = [
        (Profile.gaussian(noise_multiplier=noise).subsample(rate).expression, steps)
        for rate, noise, steps in _rounded_together(schedule)
    ]
    parts += [(profile.expression, 1) for profile in others]
    return Profile(compose(parts)) if parts else None


def _rounded_together(schedule: Sequence[EqualSteps]) -> Sequence[EqualSteps]:
    """Few settings."""
    for width in WIDTHS:
        if len(schedule) <= MOST_SETTINGS:
            break
        schedule = merged(
            EqualSteps(
                min(math.exp(width * math.ceil(math.log(rate) / width)), 1.0),
                math.exp(width * math.floor(math.log(noise) / width)),
                steps,
            )
            for rate, noise, steps in schedule
        )
    return schedule


def _number(request: Mapping[str, object], name: str) -> float:
    value = request.get(name)
    return value if isinstance(value, (int, float)) else math.nan
