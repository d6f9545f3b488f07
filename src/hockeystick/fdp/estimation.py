"""Trade-off functions estimated from samples."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from hockeystick import _validate as check
from hockeystick._numerics.law import FloatArray
from hockeystick.errors import InvalidParameter
from hockeystick.fdp.polygons import Nodes, law_of_nodes, lower_hull
from hockeystick.fdp.trade_off import TradeOff

__all__ = ["Estimate", "estimate"]


@dataclass(frozen=True)
class Estimate:
    """An estimated trade-off function between its confidence bounds.

    With probability `confidence` over the samples `lower` and `upper` hold at every alpha at once:
    `upper` for the pair's own trade-off function, `lower` for tests that threshold the scores, and
    so for the pair itself only if its likelihood ratio increases with the score. All three have the
    bound "estimate": none can be turned into a profile.
    """

    estimate: TradeOff
    lower: TradeOff
    upper: TradeOff
    confidence: float


def estimate(p_scores: Any, q_scores: Any, *, confidence: float = 0.95) -> Estimate:
    """An estimate of T[Q, P] from scores drawn under P and under Q; never a privacy guarantee.

    The tests are "score above t" for every t, and mixtures of them. Both empirical distribution
    functions are within sqrt(log(4 / (1 - confidence)) / (2 n)) of the true ones (Dvoretzky, Kiefer
    and Wolfowitz with Massart's constant, half of the failure probability each), which moves every
    point of the curve by at most that much in either coordinate. O(n log n).
    """
    with_example, without = _scores("p_scores", p_scores), _scores("q_scores", q_scores)
    confidence = check.small_probability("confidence", confidence)
    thresholds = np.unique(np.concatenate((with_example, without)))
    # "Above t" for t below all scores, and at each of them.
    alpha = np.concatenate(([1.0], _above(without, thresholds)))
    beta = np.concatenate(([0.0], 1.0 - _above(with_example, thresholds)))
    slack_p, slack_q = (_dkw(one.size, 1 - confidence) for one in (with_example, without))
    return Estimate(
        estimate=_hull(alpha, beta),
        lower=_hull(alpha - slack_q, beta - slack_p),
        upper=_hull(alpha + slack_q, beta + slack_p),
        confidence=confidence,
    )


def _scores(name: str, values: Any) -> FloatArray:
    scores = check.vector(name, values)
    if scores.ndim != 1 or not scores.size:
        raise InvalidParameter(name, "a vector of at least one score", values)
    return np.sort(scores)


def _above(scores: FloatArray, thresholds: FloatArray) -> FloatArray:
    """The share of the scores above each threshold."""
    share: FloatArray = 1.0 - np.searchsorted(scores, thresholds, side="right") / scores.size
    return share


def _dkw(count: int, failure: float) -> float:
    return math.sqrt(math.log(4 / failure) / (2 * count))


def _hull(alpha: FloatArray, beta: FloatArray) -> TradeOff:
    """The convex envelope of points and of guessing, inside the unit square."""
    x = np.clip(np.concatenate((alpha, [0.0, 1.0])), 0.0, 1.0)
    y = np.clip(np.concatenate((beta, [1.0, 0.0])), 0.0, 1.0)
    hull = lower_hull(Nodes(x, y))
    # Points above the diagonal never stay: (0, 1) and (1, 0) are among the points.
    first_zero = int(np.argmax(hull.y <= 0))
    kept = slice(0, first_zero + 1)
    return TradeOff.of_law(law_of_nodes(Nodes(hull.x[kept], hull.y[kept])), bound="estimate")
