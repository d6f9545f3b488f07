"""The approximate Gaussian filter for sampled steps: an asymptotic statement, not a guarantee."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from hockeystick import _validate as check
from hockeystick.bounds.profiles import ProfileBound
from hockeystick.filters.base import ROUNDING, Filter
from hockeystick.filters.regimes import RegimeName, chosen_regime, require_admitted
from hockeystick.filters.request import Sampled
from hockeystick.guarantee import Analysis, Guarantee
from hockeystick.profile import Profile

__all__ = ["UNDER_REPORTS", "ApproximateGaussian"]

UNDER_REPORTS = (
    "asymptotic, with an unknown constant: at real settings the true epsilon can be far above it; "
    "audit() prices the realised schedule, filters.Renyi and filters.Gaussian are proven"
)


class ApproximateGaussian(Filter):
    """About mu-GDP in the limit of many steps of sampled Gaussians: it under-reports.

    The charge of a step is q^2 (e^(1/sigma^2) - 1) / 2 at small rates (below 0.2) and
    q^2 / (2 sigma^2) at large ones (above 0.8); the budget is B = mu^2 / 2. fdp_filters, Algorithm
    2 and Theorem 4.3, with the step's own rate in the inverse and a last step that is charged what
    it is clipped to.

    The theorem is a limit with an unspecified constant, hence the kind "asymptotic". Measured at
    delta = 1e-5: rate 0.01, noise 1, 524 steps 1.13 where the truth is 1.35; rate 0.01, noise 0.8,
    239 steps 1.13 against 1.89. `audit()` shows the gap of a run. O(1) per request.
    """

    kind = "asymptotic"
    unit = "mean privacy loss"

    def __init__(
        self,
        *,
        mu: float,
        regime: RegimeName = "small",
        ledger: str | Path | None = None,
        name: str = "default",
    ) -> None:
        self.mu = check.positive("mu", mu)
        self._regime, self.regime = chosen_regime(regime), regime
        super().__init__(
            budget=self.mu * self.mu / 2,
            description={"mu": self.mu, "regime": regime},
            ledger=ledger,
            name=name,
        )

    def guarantee(self) -> Guarantee:
        """mu-GDP as if the limit were reached: kind "asymptotic"."""
        bound = ProfileBound(Profile.gaussian(noise_multiplier=1 / self.mu))
        analysis = Analysis("approximate gaussian filter", self.kind, bound)
        return Guarantee((analysis,), note=UNDER_REPORTS)

    def _price_sampled(self, step: Sampled) -> float:
        require_admitted(self._regime, step.rate)
        return float(self._regime.charges(step.rate, np.array([step.square]))[0])

    def _largest_scale(self, step: Sampled, left: float) -> float:
        square = float(self._regime.largest_squares(step.rate, np.array([left]))[0])
        return math.sqrt(square) / step.mu * (1 - ROUNDING)
