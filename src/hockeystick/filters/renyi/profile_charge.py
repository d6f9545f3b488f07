"""The Renyi divergence of a profile at one order, the larger of both directions."""

from __future__ import annotations

import math

import numpy as np

from hockeystick.errors import UnsupportedPlan
from hockeystick.filters.renyi.charge import ROUNDING, prices
from hockeystick.profile import Profile
from hockeystick.profile.expressions.base import Expression
from hockeystick.profile.expressions.subsampled import Subsampled

__all__ = ["profile_price"]


def profile_price(order: float, profile: Profile) -> float:
    """An upper bound, part by part: divergences of compositions add up.

    Refused where a part has no finite divergence that is known, in one direction or the other.
    """
    parts = profile.expression.sampled().factors()
    total = math.fsum(count * _of_part(order, part.sampled()) for part, count in parts)
    if not math.isfinite(total):
        raise UnsupportedPlan(
            f"The profile has no finite Renyi divergence of order {order:g} that is known in both "
            "directions; Gaussians, Laplace noise, discrete pairs, Poisson-sampled Gaussians and "
            "their compositions have one."
        )
    return total * (1 + ROUNDING)


def _of_part(order: float, part: Expression) -> float:
    """Sampled Gaussians by their own formula: the law of their other direction is cut."""
    if type(part) is Subsampled and part.child.family == "gaussian":
        return float(prices(order, part.rate, np.array([part.child.order() ** 2]))[0])
    both = Profile(part), Profile(part).reverse()
    return max(float(one.renyi(order)) for one in both)
