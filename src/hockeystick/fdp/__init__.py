"""f-DP: trade-off functions, their order and their products, and adaptive composition.

Built on `Profile`, for questions that need whole curves: which of two mechanisms is more private,
what an attacker can reach, and what goes wrong when mechanisms are chosen from earlier outputs.
"""

from __future__ import annotations

from hockeystick.fdp.adaptive import (
    FirstStage,
    WorstSelection,
    adaptive_height,
    adaptive_tradeoff,
    worst_selection,
)
from hockeystick.fdp.attack import true_positive_rate
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
