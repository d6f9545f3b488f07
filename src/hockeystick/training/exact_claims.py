"""What exact runs claim: the distance of the noise from its law is part of delta.

A run whose noise is within a total variation of tau of its law is (epsilon, delta')-DP with
delta' = delta + (1 + e^epsilon) tau, if it is (epsilon, delta)-DP with noise of that law: every
event moves by at most tau with either data set. tau is 2^-124 for a run (`TOTAL_VARIATION`), so a
share of 2^-40 of delta is set aside for it, and a delta for which that is too little is refused.
"""

from __future__ import annotations

import math

from hockeystick.errors import InvalidParameter
from hockeystick.guarantee import Answer, Guarantee
from hockeystick.strategies.dyadic import TOTAL_VARIATION

__all__ = ["answer_of", "delta_left"]

# The share of delta that is set aside: no digit that is printed changes.
SHARE = 2.0**-40


def delta_left(delta: float) -> float:
    """The delta at which an exact run is accounted, to be within `delta` as it is run."""
    return delta * (1.0 - SHARE)


def answer_of(guarantee: Guarantee, *, delta: float, exact_runs: int) -> Answer:
    """The answer at `delta` if as many of the guarantee's runs are exact ones.

    `InvalidParameter` if the total variation is more than what is set aside of delta: never for a
    delta above 1e-9 and an epsilon below 20.
    """
    if not exact_runs:
        return guarantee.answer(delta=delta)
    answer = guarantee.answer(delta=delta_left(delta))
    if math.isfinite(answer.value):
        taken = exact_runs * TOTAL_VARIATION * (1.0 + math.exp(min(answer.value, 700.0)))
        # Half of the share is left for the rounding of `delta_left`.
        if not taken <= delta * SHARE / 2.0:
            allowed = f"at least {taken / SHARE * 2.0:.2g} with exact arithmetic and this epsilon"
            raise InvalidParameter("delta", allowed, delta)
    return answer
