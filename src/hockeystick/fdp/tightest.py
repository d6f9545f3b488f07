"""The tightest mu-GDP statement that a curve allows."""

from __future__ import annotations

import math
from typing import NamedTuple

from hockeystick import _validate as check
from hockeystick._numerics.gaussian import MU_ROUNDING, mu_at_corners
from hockeystick._numerics.law import Resolution
from hockeystick.errors import InvalidParameter
from hockeystick.fdp.gaussian import GaussianTradeOff
from hockeystick.fdp.trade_off import TradeOff
from hockeystick.profile import Profile
from hockeystick.profile.refinement import tail_below

__all__ = ["TightestMu", "tightest_mu"]

# Resolutions that are tried; all of them are valid, the smallest mu wins.
STEPS, NATS = (0.05, 0.01), 8.0
# Without slack only a law of which nothing is cut says something; bounded losses end before this.
NO_SLACK_TAIL = 1e-20
AXIS = "the curve meets an axis before its corner: it allows outputs that tell P and Q apart"
TAIL = "the far tail is known only numerically, where no Gaussian can be shown to stay below"
CORNERS, STRUCTURE = "from the corners of the curve", "from what the pair is made of"


class TightestMu(NamedTuple):
    """A mu with G_mu - slack <= f, rounded up; infinite if there is none, and why.

    `reason` says where a finite number comes from, or what is in the way of one.
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
