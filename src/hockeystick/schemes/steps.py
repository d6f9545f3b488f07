"""The profile of one participation: of an example that is added, or that is replaced."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from hockeystick._validate import LARGEST_NOISE, SMALLEST_NOISE
from hockeystick.errors import InvalidParameter, PrecisionError
from hockeystick.profile import Profile
from hockeystick.profile.expressions.mechanisms import GaussianPair

__all__ = ["AddedStep", "ReplacedStep", "Step", "gaussian_step"]


class Step(Protocol):
    """The profile of one participation, given the length of the strategy's columns it involves."""

    def __call__(self, length: float) -> Profile:
        """Of an example that is known to take part."""

    def sampled(self, length: float, rate: float) -> Profile:
        """Of one that takes part with probability `rate`."""


@dataclass(frozen=True)
class AddedStep:
    """An example that is there or not; a mechanism of its own has columns of length 1 only."""

    mechanism: Profile | None
    noise_multiplier: float | None

    def __call__(self, length: float) -> Profile:
        """The mechanism, or the Gaussian one with this sensitivity."""
        if self.mechanism is not None:
            return self.mechanism
        assert self.noise_multiplier is not None
        return gaussian_step(self.noise_multiplier, length)

    def sampled(self, length: float, rate: float) -> Profile:
        """The subsampled pair."""
        return self(length).subsample(rate)


@dataclass(frozen=True)
class ReplacedStep:
    """An example that is one or another one, with Gaussian noise.

    Both take part in the same steps, because batches are drawn without regard to what is in them.
    """

    noise_multiplier: float

    def __call__(self, length: float) -> Profile:
        """Two gradients within the clip norm are at most twice the clip norm apart."""
        return gaussian_step(self.noise_multiplier, 2 * length)

    def sampled(self, length: float, rate: float) -> Profile:
        """The gradient changes its sign: the proof is in profile/expressions/replaced.py."""
        gaussian_step(self.noise_multiplier, length)  # the same limits of floating point
        return Profile.replaced_gaussian(noise_multiplier=self.noise_multiplier / length, rate=rate)


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
    return Profile(GaussianPair(1 / (noise_multiplier / length)))
