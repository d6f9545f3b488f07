"""mu-GDP: the trade-off functions of two Gaussians, and the tightest one below a curve."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hockeystick import _validate as check
from hockeystick._numerics.gaussian import MU_ROUNDING, mu_at_corners, ndtr, normal_quantile
from hockeystick._numerics.law import FloatArray, Resolution
from hockeystick.errors import InvalidParameter
from hockeystick.fdp.trade_off import TradeOff
from hockeystick.profile import Profile
from hockeystick.profile.resolution import tail_below

__all__ = ["GaussianTradeOff", "TightestMu", "gaussian_height", "gdp", "tightest_mu"]

# The tail that a polygon charges, and how many standard deviations that is.
POLYGON_TAIL, POLYGON_REACH = 1e-14, 7.7
# Grids on which a mu is searched for; all of them are valid, the smallest mu is taken.
STEPS, NATS = (0.05, 0.01), 8.0
# Without slack only a law of which nothing is cut says something; bounded losses end before this.
NO_SLACK_TAIL = 1e-20
AXIS = "the curve meets an axis before its corner: it allows outputs that tell P and Q apart"
TAIL = "the far tail is known only numerically, where no Gaussian can be shown to stay below"
CORNERS, STRUCTURE = "from the corners of the curve", "from what the pair is made of"


@dataclass(frozen=True)
class GaussianTradeOff:
    """G_mu(alpha) = Phi(Phi^-1(1 - alpha) - mu), the trade-off function of N(0, 1) and N(mu, 1).

    [DongRothSu22]. Symmetric; accurate to floating point, not rounded to either side.

    Parameters
    ----------
    mu
        The distance of the means in units of the standard deviation.

    Examples
    --------
    >>> import hockeystick as hs
    >>> f = hs.fdp.gdp(1.0)
    >>> round(f(0.05), 4)  # the type II error of the best test at level 0.05
    0.7405
    >>> f.tensor(f).mu == 2**0.5
    True
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
        """H(gamma) = Phi(a) - gamma Phi(a - mu), a = mu/2 - log(gamma)/mu [BalleWang18]."""
        orders = check.vector("gamma", gamma, "not negative")
        if not np.all(orders >= 0):
            raise InvalidParameter("gamma", "not negative", gamma)
        value = gaussian_height(self.mu, orders)
        return float(value) if np.ndim(gamma) == 0 else value

    def tensor(self, other: GaussianTradeOff) -> GaussianTradeOff:
        """The product: squares of mu add [Tran26, Proposition A.18].

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
    """The trade-off function G_mu of mu-GDP.

    Parameters
    ----------
    mu
        At least 0; 0 is perfect privacy.

    Returns
    -------
    GaussianTradeOff
        G_mu.

    Examples
    --------
    >>> import hockeystick as hs
    >>> round(hs.fdp.gdp(0.0)(0.3), 9)
    0.7
    """
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


class TightestMu(NamedTuple):
    """A mu with G_mu - slack <= f, rounded up.

    Attributes
    ----------
    mu : float
        Infinite if there is none, or if none can be shown.
    slack : float
        As given.
    reason : str
        Where a finite number comes from, or what is in the way of one.
    """

    mu: float
    slack: float
    reason: str


def tightest_mu(source: Profile | TradeOff | GaussianTradeOff, *, slack: float = 0.0) -> TightestMu:
    """The smallest mu that can be shown to satisfy G_mu(alpha) - slack <= f(alpha) for all alpha.

    In terms of profiles: H(g) <= H_mu(g) + slack at every g, in the direction of the source. With
    slack = 0 that is mu-GDP. For polygons the answer is exact (see `mu_at_corners`); for a Profile
    it is the better of its structure and of its numerical law, which can help without slack only
    where losses are bounded. A subsampled Gaussian needs the mu of the unsampled one, because its
    tail is that of the unsampled one; a small slack shows the amplification. Errs upwards, so
    curves that may be above the true one are refused; of an estimate it is an estimate.

    Parameters
    ----------
    source
        A profile, or a trade-off function.
    slack
        In [0, 1): by how much G_mu may lie above f.

    Returns
    -------
    TightestMu
        mu, and where it comes from.

    Examples
    --------
    >>> import hockeystick as hs
    >>> run = hs.Profile.gaussian(noise_multiplier=2.0).self_compose(4)
    >>> round(hs.fdp.tightest_mu(run).mu, 6)
    1.0
    """
    slack = check.real("slack", slack, "in [0, 1)")
    if not 0 <= slack < 1:
        raise InvalidParameter("slack", "in [0, 1)", slack)
    if isinstance(source, GaussianTradeOff):
        source = source.to_profile()
    if isinstance(source, TradeOff):
        if source.bound == "upper":
            raise InvalidParameter("source", "a trade-off function that is no upper bound", source)
        mu = mu_at_corners(source.law, slack=slack)
        return TightestMu(mu, slack, CORNERS if math.isfinite(mu) else AXIS)
    return _of_profile(source, slack)


def _of_profile(profile: Profile, slack: float) -> TightestMu:
    if profile.bound != "upper":
        raise InvalidParameter("source", "a profile with bound='upper'", profile.bound)
    structural = profile.expression.gaussian_mu() * (1 + MU_ROUNDING)
    if slack == 0 and profile.expression.family == "gaussian":
        return TightestMu(structural, slack, STRUCTURE)
    tail = NO_SLACK_TAIL if slack == 0 else tail_below(slack)
    numerical, lower_ends = math.inf, 0.0
    for step in STEPS:
        laws = profile.evaluator.laws(Resolution(step, tail, NATS))
        numerical = min(numerical, mu_at_corners(laws.upper, slack=slack))
        lower_ends = laws.lower.p_infinite + laws.lower.q_zero
        if slack == 0 and math.isinf(numerical):
            break
    if min(structural, numerical) < math.inf:
        best = STRUCTURE if structural <= numerical else CORNERS
        return TightestMu(min(structural, numerical), slack, best)
    return TightestMu(math.inf, slack, AXIS if lower_ends > 0 else TAIL)
