"""The price of steps that were recorded, as if their parameters had been fixed beforehand."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from hockeystick.fdp.schedules import Stretch
from hockeystick.profile import Profile
from hockeystick.profile.expressions.composed import compose

__all__ = ["MOST_SETTINGS", "equal_steps_together", "profile_of", "stretch_of"]

# More settings than this are rounded together, to the first of these relative widths that helps.
MOST_SETTINGS, WIDTHS = 64, (1e-3, 5e-3, 0.02, 0.1, 0.5)


def stretch_of(request: Mapping[str, object]) -> Stretch | None:
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
    return Stretch(rate, noise / reach, int(steps))


def equal_steps_together(stretches: Iterable[Stretch]) -> tuple[Stretch, ...]:
    """Each setting once; the order of fixed steps does not matter."""
    counts: Counter[tuple[float, float]] = Counter()
    for rate, noise, steps in stretches:
        counts[rate, noise] += steps
    return tuple(Stretch(rate, noise, steps) for (rate, noise), steps in counts.items())


def profile_of(schedule: Sequence[Stretch], *, others: Sequence[Profile] = ()) -> Profile | None:
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


def _rounded_together(schedule: Sequence[Stretch]) -> Sequence[Stretch]:
    """Few settings."""
    for width in WIDTHS:
        if len(schedule) <= MOST_SETTINGS:
            break
        schedule = equal_steps_together(
            Stretch(
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
