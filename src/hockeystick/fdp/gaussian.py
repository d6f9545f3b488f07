"""mu-GDP: the trade-off functions of two Gaussians, and the tightest one below a curve."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from hockeystick import _validate as check
from hockeystick._numerics.gaussian import normal_quantile
from hockeystick._numerics.law import FloatArray, Resolution
from hockeystick._numerics.special import ndtr
from hockeystick.errors import InvalidParameter
from hockeystick.fdp.trade_off import TradeOff
from hockeystick.profile import Profile

__all__ = ["GaussianTradeOff", "gaussian_height", "gdp", "normal_quantile"]

# The tail that a polygon charges, and how many standard deviations that is.
POLYGON_TAIL, POLYGON_REACH = 1e-14, 7.7


@dataclass(frozen=True)
class GaussianTradeOff:
    """G_mu(alpha) = Phi(Phi^-1(1 - alpha) - mu), the trade-off function of N(0, 1) and N(mu, 1).

    Dong, Roth and Su 2022. Symmetric; accurate to floating point, not rounded to either side.
    """

    mu: float

    def __call__(self, alpha: Any) -> Any:
        """G_mu(alpha), for one number or an array in [0, 1]."""
        levels = check.vector("alpha", alpha, "in [0, 1]")
        if not np.all((levels >= 0) & (levels <= 1)):
            raise InvalidParameter("alpha", "in [0, 1]", alpha)
        value = ndtr(-normal_quantile(levels) - self.mu)
        return float(value) if np.ndim(alpha) == 0 else value

    def height(self, gamma: Any) -> Any:
        """H(gamma) = Phi(a) - gamma Phi(a - mu), a = mu/2 - log(gamma)/mu; Balle and Wang 2018."""
        orders = check.vector("gamma", gamma, "not negative")
        if not np.all(orders >= 0):
            raise InvalidParameter("gamma", "not negative", gamma)
        value = gaussian_height(self.mu, orders)
        return float(value) if np.ndim(gamma) == 0 else value

    def tensor(self, other: GaussianTradeOff) -> GaussianTradeOff:
        """The product: squares of mu add (fdp_filters, Proposition A.18).

        For the product with a piecewise-linear curve see `polygon`.
        """
        return GaussianTradeOff(math.hypot(self.mu, other.mu))

    def power(self, count: int) -> GaussianTradeOff:
        """The product of `count` copies: mu times the root of the count."""
        return GaussianTradeOff(self.mu * math.sqrt(check.positive_integer("count", count)))

    def inverse(self) -> GaussianTradeOff:
        """Itself."""
        return self

    def symmetrize(self) -> GaussianTradeOff:
        """Itself."""
        return self

    def to_profile(self) -> Profile:
        """The Gaussian mechanism with noise multiplier 1/mu."""
        if not self.mu > 0:
            return TradeOff.identity().to_profile()
        return Profile.gaussian(noise_multiplier=1 / self.mu)

    def polygon(self, *, corners: int = 400) -> TradeOff:
        """A polygon below G_mu: the tangents at points that are spread evenly in the observation.

        Its bound is "lower"; with 400 corners it is within 1e-4 of G_mu for mu up to 3.
        """
        corners = check.positive_integer("corners", corners)
        if not self.mu > 0:
            return TradeOff.identity()
        profile = self.to_profile()
        width = self.mu + 2 * POLYGON_REACH
        resolution = Resolution(step=width / corners, tail=POLYGON_TAIL, nats=8.0)
        return TradeOff.of_law(profile.evaluator.laws(resolution).upper, bound="lower")


def gdp(mu: float) -> GaussianTradeOff:
    """The trade-off function G_mu of mu-GDP; mu = 0 is perfect privacy."""
    return GaussianTradeOff(check.at_least("mu", mu, 0.0))


def gaussian_height(mu: float, gamma: FloatArray) -> FloatArray:
    """H of N(mu, 1) against N(0, 1) at every order; absolute accuracy of floating point."""
    if not mu > 0:
        flat: FloatArray = np.maximum(1.0 - gamma, 0.0)
        return flat
    with np.errstate(divide="ignore", invalid="ignore"):
        a = mu / 2 - np.log(gamma) / mu
        taken = np.where(np.isfinite(gamma), gamma * ndtr(a - mu), 0.0)
    height: FloatArray = np.clip(ndtr(a) - taken, 0.0, 1.0)
    return height
