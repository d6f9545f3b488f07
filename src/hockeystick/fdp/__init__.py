"""f-DP: trade-off functions, their order and their products, and adaptive composition.

Built on `Profile`, for questions that need whole curves: which of two mechanisms is more private,
what an attacker can reach, and what goes wrong when mechanisms are chosen from earlier outputs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hockeystick import _validate as check
from hockeystick._numerics.divergence import ROUNDING
from hockeystick._numerics.law import FloatArray, Law
from hockeystick.errors import InvalidParameter
from hockeystick.fdp.adaptive import (
    FirstStage,
    WorstSelection,
    adaptive_height,
    adaptive_tradeoff,
    worst_selection,
)
from hockeystick.fdp.chain import ChainTest, blackwell_chain
from hockeystick.fdp.counterexample import Counterexample, Witness
from hockeystick.fdp.gaussian import GaussianTradeOff, TightestMu, gdp, tightest_mu
from hockeystick.fdp.moments import (
    LimitQuantities,
    LossMoments,
    SideMoments,
    approximate_moments,
    limit_quantities,
    loss_moments,
)
from hockeystick.fdp.order import (
    CalibrationPoints,
    Order,
    blackwell_order,
    calibration_points,
    delta_divergence,
    distance,
)
from hockeystick.fdp.schedule import EqualSteps
from hockeystick.fdp.sources import (
    TradeOffEstimate,
    estimate,
    from_densities,
    from_pmfs,
    from_profile,
)
from hockeystick.fdp.trade_off import PrivacyCurve, TradeOff, greatest_lower_bound
from hockeystick.profile import DEFAULT_ACCURACY, Profile
from hockeystick.profile.refinement import Bounds, Laws, Quantity
from hockeystick.profile.resolution import tail_below

__all__ = [
    "CalibrationPoints",
    "ChainTest",
    "Counterexample",
    "EqualSteps",
    "FirstStage",
    "GaussianTradeOff",
    "LimitQuantities",
    "LossMoments",
    "Order",
    "PrivacyCurve",
    "SideMoments",
    "TightestMu",
    "TradeOff",
    "TradeOffEstimate",
    "Witness",
    "WorstSelection",
    "adaptive_height",
    "adaptive_tradeoff",
    "approximate_moments",
    "blackwell_chain",
    "blackwell_order",
    "calibration_points",
    "delta_divergence",
    "distance",
    "estimate",
    "from_densities",
    "from_pmfs",
    "from_profile",
    "gdp",
    "greatest_lower_bound",
    "limit_quantities",
    "loss_moments",
    "tightest_mu",
    "true_positive_rate",
    "worst_selection",
]

# One step of the grid for this many nats of a tail.
NATS = 8.0
# At FPR 0 only cut tails are left; rates below this many of them are not resolved.
TAILS_UNRESOLVED = 1e6
# The tail is cut as for this rate where all rates are 0.
FPR_OF_TAIL = 1e-15


def true_positive_rate(
    source: Profile | TradeOff | GaussianTradeOff,
    *,
    false_positive_rate: Any,
    accuracy: float = DEFAULT_ACCURACY,
) -> Any:
    """The largest true positive rate of a membership attack at a false positive rate.

    1 - f(FPR): P is the output with the example, Q without it. By [NeymanPearson33] the best
    attack claims membership where the likelihood ratio is largest. An upper profile or a lower
    bound on f gives an upper bound.

    Parameters
    ----------
    source
        A profile, or a trade-off function.
    false_positive_rate
        One number in [0, 1], or an array.
    accuracy
        Relative to the true positive rate itself, so that attacks at FPR 1e-6 are as well resolved
        as those at 0.1.

    Returns
    -------
    float or numpy.ndarray
        Like false_positive_rate.

    Examples
    --------
    >>> import hockeystick as hs
    >>> run = hs.Profile.gaussian(noise_multiplier=1.0)
    >>> round(hs.fdp.true_positive_rate(run, false_positive_rate=0.05), 3)
    0.26
    """
    accuracy = check.relative_accuracy("accuracy", accuracy)
    rates = check.vector("false_positive_rate", false_positive_rate, "in [0, 1]")
    if not np.all((rates >= 0) & (rates <= 1)):
        raise InvalidParameter("false_positive_rate", "in [0, 1]", false_positive_rate)
    levels = np.atleast_1d(rates)
    if isinstance(source, GaussianTradeOff):
        source = source.to_profile()
    if isinstance(source, TradeOff):
        powers = powers_from_law(source.law, levels)
    else:
        powers = _of_profile(source, levels, accuracy)
    return float(powers[0]) if np.ndim(false_positive_rate) == 0 else powers.reshape(rates.shape)


def powers_from_law(law: Law, alpha: FloatArray) -> FloatArray:
    """The P-mass of the part with the largest ratios and Q-mass alpha, summed from its small end.

    P at infinity is free. Where Q-masses underflow, the P-mass above them is free as well, which
    only raises the answer.
    """
    q = np.concatenate(([0.0], np.cumsum(law.q[::-1])))
    p = np.concatenate(([0.0], np.cumsum(law.p[::-1]))) + law.p_infinite
    # np.interp needs increasing points: of several with one Q-mass the last one counts.
    last = np.append(q[1:] > q[:-1], True)
    powers: FloatArray = np.clip(np.interp(alpha, q[last], p[last]), alpha, 1.0)
    return powers


def _of_profile(profile: Profile, levels: FloatArray, accuracy: float) -> FloatArray:
    found: dict[str, FloatArray] = {}
    tail = tail_below(float(np.min(levels[levels > 0], initial=FPR_OF_TAIL)))

    def read(laws: Laws) -> Bounds:
        upper, lower = (powers_from_law(law, levels) for law in (laws.upper, laws.lower))
        found["upper"] = np.minimum(upper * (1 + ROUNDING), 1.0)
        found["lower"] = lower * (1 - ROUNDING)
        scale = np.maximum(upper, TAILS_UNRESOLVED * tail)
        return Bounds(0.0, float(np.max(np.abs(upper - lower) / scale, initial=0.0)))

    profile.evaluator.answer(
        Quantity(
            name="the true positive rate",
            read=read,
            gap=lambda bounds: bounds.upper / accuracy,
            tail=tail,
            nats=NATS,
            accuracy=accuracy,
        )
    )
    return found[profile.bound]
