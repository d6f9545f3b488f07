"""The settings of a step, and the schedule of the steps that were taken, equal ones together."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from hockeystick import _validate as check
from hockeystick.errors import InvalidParameter

__all__ = ["Schedule", "StepSettings", "TakenSteps", "as_lists", "from_lists", "with_step"]

# More than the roundings of a square root, a quotient and a product.
OUTWARD = 1.0 + 2.0**-40


class TakenSteps(NamedTuple):
    """Steps in a row that had the same settings.

    Attributes
    ----------
    steps
        How many.
    noise_multiplier
        What was accounted: the standard deviation of the noise over the clip norm.
    clip_norm
        How long a gradient could be; what a filter's last permit shortened it to.
    rate
        The sampling rate that a filter was charged for; None without a filter.
    count_noise
        With adaptive clipping the standard deviation of the noise on the count, else None.
    """

    steps: int
    noise_multiplier: float
    clip_norm: float
    rate: float | None = None
    count_noise: float | None = None


Schedule = tuple[TakenSteps, ...]


@dataclass(frozen=True)
class StepSettings:
    """What the next steps are run and accounted with.

    With `count_noise` a step releases two things: the noisy sum of gradients, and a noisy count
    with +1/2 for each gradient within the clip norm and -1/2 for each other one. In units of the
    noise an example moves the sum by at most 1 / gradient_noise and the count by 1 / (2
    count_noise), at right angles. So both are one Gaussian mechanism, whose noise multiplier z has
    z^-2 = gradient_noise^-2 + (2 count_noise)^-2 [Andrew21, Theorem 1].

    Attributes
    ----------
    noise_multiplier
        What is accounted: that of the sum of gradients, or of sum and count together.
    max_grad_norm
        The clip norm.
    rate
        The sampling rate that a filter is charged for; None without a filter.
    count_noise
        The standard deviation of the noise on the count, or None if there is none.
    """

    noise_multiplier: float
    max_grad_norm: float
    rate: float | None = None
    count_noise: float | None = None

    def __post_init__(self) -> None:
        if self.count_noise is not None and not self.noise_multiplier < 2 * self.count_noise:
            allowed = f"below {2 * self.count_noise:g}, twice the noise of the count"
            raise InvalidParameter("noise_multiplier", allowed, self.noise_multiplier)

    @property
    def gradient_noise(self) -> float:
        """The noise multiplier of the sum of gradients, rounded up where it is computed."""
        if self.count_noise is None:
            return self.noise_multiplier
        share = self.noise_multiplier / (2 * self.count_noise)
        return self.noise_multiplier / math.sqrt((1 - share) * (1 + share)) * OUTWARD

    @property
    def scale(self) -> float:
        """The standard deviation of the noise on the sum of gradients."""
        return self.gradient_noise * self.max_grad_norm

    def changed(
        self,
        *,
        noise_multiplier: float | None = None,
        rate: float | None = None,
        max_grad_norm: float | None = None,
    ) -> StepSettings:
        """With what is given in the place of what was; each of it checked."""
        found: dict[str, Any] = {}
        if noise_multiplier is not None:
            found["noise_multiplier"] = check.positive("noise_multiplier", noise_multiplier)
        if max_grad_norm is not None:
            found["max_grad_norm"] = check.positive("max_grad_norm", max_grad_norm)
        if rate is not None:
            found["rate"] = check.sampling_rate("rate", rate)
        if not found:
            allowed = "given noise_multiplier, rate or max_grad_norm"
            raise InvalidParameter("set", allowed, None)
        return replace(self, **found)


def with_step(schedule: Schedule, settings: StepSettings, clip: float) -> Schedule:
    """The schedule with one step more, whose gradients were clipped to `clip`.

    A permit may have shortened the clip norm: then the same noise is a larger multiple of it, and
    no count was released.
    """
    whole = clip == settings.max_grad_norm
    step = TakenSteps(
        1,
        settings.noise_multiplier * (1.0 if whole else settings.max_grad_norm / clip),
        clip,
        settings.rate,
        settings.count_noise if whole else None,
    )
    if schedule and schedule[-1][1:] == step[1:]:
        return (*schedule[:-1], schedule[-1]._replace(steps=schedule[-1].steps + 1))
    return (*schedule, step)


def as_lists(schedule: Iterable[TakenSteps]) -> list[list[Any]]:
    """For statements and states: what does not apply at the end is left out."""
    found = []
    for part in schedule:
        values = list(part)
        while values[-1] is None:
            values.pop()
        found.append(values)
    return found


def from_lists(parts: Iterable[Iterable[Any]]) -> Schedule:
    """The schedule again."""
    return tuple(TakenSteps(*part) for part in parts)
