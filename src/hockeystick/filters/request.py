"""What a filter is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, SupportsFloat, cast

from hockeystick import _validate as check
from hockeystick.errors import InvalidParameter
from hockeystick.profile import Profile

__all__ = ["Asked", "Sampled", "as_number", "checked_request"]


@dataclass(frozen=True)
class Sampled:
    """One Gaussian step on a Poisson sample: each example takes part with probability `rate`.

    `sensitivity` is the largest contribution of an example and the noise has the standard deviation
    `noise_multiplier`, both in units of the clip norm.
    """

    rate: float
    noise_multiplier: float
    sensitivity: float = 1.0

    @property
    def mu(self) -> float:
        """The contribution in units of the noise."""
        return self.sensitivity / self.noise_multiplier

    @property
    def square(self) -> float:
        """mu^2; infinite, rather than an error, where it overflows."""
        return self.mu * self.mu

    def shortened(self, clip_scale: float) -> Sampled:
        """The same step with contributions clipped further."""
        return replace(self, sensitivity=self.sensitivity * clip_scale)


@dataclass(frozen=True)
class Asked:
    """A checked request: `steps` runs of one mechanism, either sampled Gaussian or a profile."""

    sampled: Sampled | None
    profile: Profile | None
    steps: int
    clip: bool

    def as_json(self, clip_scale: float) -> Mapping[str, object]:
        """The request as the ledger keeps it."""
        values: dict[str, object] = {"steps": self.steps, "clip_scale": clip_scale}
        if self.sampled is not None:
            return {**vars(self.sampled), **values}
        return {"profile": repr(self.profile), **values}


def checked_request(
    *,
    rate: Any,
    noise_multiplier: Any,
    sensitivity: Any,
    steps: Any,
    profile: Any,
    clip: Any,
) -> Asked:
    """The request, if it is one: either a noise multiplier or a profile, never both."""
    steps, clip = check.positive_integer("steps", steps), check.boolean("clip", clip)
    if (noise_multiplier is None) == (profile is None):
        raise InvalidParameter(
            "noise_multiplier, profile", "exactly one of the two", (noise_multiplier, profile)
        )
    rate = check.sampling_rate("rate", rate)
    sensitivity = check.positive("sensitivity", sensitivity)
    if profile is None:
        noise_multiplier = check.positive("noise_multiplier", noise_multiplier)
        return Asked(Sampled(rate, noise_multiplier, sensitivity), None, steps, clip)
    if (rate, sensitivity) != (1.0, 1.0):
        raise InvalidParameter(
            "rate, sensitivity", "left out where a profile is given", (rate, sensitivity)
        )
    if not isinstance(profile, Profile) or profile.bound != "upper":
        raise InvalidParameter("profile", "a profile with bound='upper'", profile)
    return Asked(None, profile, steps, clip)


def as_number(value: object) -> float:
    """A number that comes back from the ledger."""
    return float(cast(SupportsFloat, value))
