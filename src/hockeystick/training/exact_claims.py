"""What exact runs claim: the distance of the noise from its law is added to delta.

A run whose noise is within a total variation of tau of its law is (epsilon, delta + d)-DP with
d = (1 + e^epsilon) tau, if it is (epsilon, delta)-DP with noise of that law: every event moves by
at most tau with either data set. tau is 2^-124 for a run (`TOTAL_VARIATION`). Statements name d,
and a delta of which it would be more than a share of 2^-40 is refused.
"""

from __future__ import annotations

import math

from hockeystick.errors import InvalidParameter
from hockeystick.guarantee import Answer, Guarantee
from hockeystick.strategies.dyadic import TOTAL_VARIATION

__all__ = ["added_delta", "answer_of"]

# The largest share of delta that is added: no digit that is printed changes.
LEAST_SHARE = 2.0**-40


def added_delta(epsilon: float, exact_runs: int) -> float:
    """What the distance of the noise of so many exact runs from its law adds to delta."""
    # Rounded up by more than the four operations can be wrong by.
    exponential = math.exp(epsilon) if epsilon < 700.0 else math.inf
    return exact_runs * TOTAL_VARIATION * (1.0 + exponential) * (1.0 + 2.0**-48)


def answer_of(guarantee: Guarantee, *, delta: float, exact_runs: int) -> Answer:
    """The answer at `delta`, which is added to if as many of the guarantee's runs are exact ones.

    `InvalidParameter` if more than a share of 2^-40 would be added: never for a delta above 1e-9
    and an epsilon below 20.
    """
    answer = guarantee.answer(delta=delta)
    if exact_runs and math.isfinite(answer.value):
        added = added_delta(answer.value, exact_runs)
        if not added <= delta * LEAST_SHARE:
            allowed = f"at least {added / LEAST_SHARE:.2g} with exact arithmetic and this epsilon"
            raise InvalidParameter("delta", allowed, delta)
    return answer
