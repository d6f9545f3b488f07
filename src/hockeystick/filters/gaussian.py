"""The Gaussian filter: squares of mu add up."""

from __future__ import annotations

import math
from pathlib import Path

from hockeystick import _validate as check
from hockeystick.bounds.profiles import ProfileBound
from hockeystick.filters.base import ROUNDING, Filter
from hockeystick.filters.request import Sampled
from hockeystick.guarantee import Analysis, Guarantee
from hockeystick.profile import Profile

__all__ = ["Gaussian"]


class Gaussian(Filter):
    """mu-GDP for any adaptive run of Gaussian steps whose squares of mu add up to mu^2.

    The charge of a step is (sensitivity / noise_multiplier)^2. Koskela, Tobaben & Honkela 2023
    (fdp_filters, Theorem 2.11). Proven for full batches. Sampling is not used: a step at a rate
    below 1 is charged like one at rate 1, which dominates it. O(1) per request.
    """

    kind = "proven"
    unit = "mu^2"

    def __init__(
        self, *, mu: float, ledger: str | Path | None = None, name: str = "default"
    ) -> None:
        self.mu = check.positive("mu", mu)
        super().__init__(
            budget=self.mu * self.mu * (1 - ROUNDING),
            description={"mu": self.mu},
            ledger=ledger,
            name=name,
        )

    def guarantee(self) -> Guarantee:
        """mu-GDP: the profile of one Gaussian mechanism with noise multiplier 1/mu."""
        bound = ProfileBound(Profile.gaussian(noise_multiplier=1 / self.mu))
        return Guarantee((Analysis("gaussian filter", self.kind, bound),))

    def _price_sampled(self, step: Sampled) -> float:
        return step.square * (1 + ROUNDING)

    def _largest_scale(self, step: Sampled, left: float) -> float:
        return math.sqrt(left) / step.mu * (1 - ROUNDING)
