"""Reading numbers off a law: hockey-stick divergence and trade-off function."""

from __future__ import annotations

import math

import numpy as np

from hockeystick._numerics.law import FloatArray, Law, Side

__all__ = ["delta_from_law", "epsilon_from_law", "guard", "tradeoff_from_law"]

# Floating-point rounding of the whole computation stays far below this relative amount; every
# answer is moved outwards by it, so that a bound stays a bound.
ROUNDING = 1e-8
# Over longer segments e^(epsilon - loss) is counted from their end.
NEAR = 30.0


def guard(value: float, side: Side) -> float:
    """The value moved outwards by the floating-point allowance."""
    return value * (1 + ROUNDING) if side is Side.UPPER else value * (1 - ROUNDING)


def delta_from_law(law: Law, epsilon: float) -> float:
    """H(P || Q) at e^epsilon: sum of p (1 - e^(epsilon - l)) over l > epsilon, plus P at infinity.

    All terms are positive, so tiny values are as accurate, relatively, as large ones.
    """
    first = int(np.searchsorted(law.loss, epsilon, side="right"))
    above = law.loss[first:]
    return law.p_infinite - float(law.p[first:] @ np.expm1(epsilon - above))


def epsilon_from_law(law: Law, delta: float) -> float:
    """The smallest epsilon >= 0 with H(P || Q) <= delta; infinite if none is.

    Between two atoms H is linear in e^epsilon, so the answer is a closed form once the pair of
    atoms is known.
    """
    if law.p_infinite > delta:
        return math.inf
    if delta_from_law(law, 0.0) <= delta:
        return 0.0
    # H at the atoms decreases with the loss; find the last one that is still above delta.
    first = int(np.searchsorted(law.loss, 0.0, side="right"))
    low, high = first - 1, law.loss.size - 1
    while high - low > 1:
        middle = (low + high) // 2
        if delta_from_law(law, law.loss[middle]) > delta:
            low = middle
        else:
            high = middle
    return _on_segment(law, high, max(float(law.loss[low]), 0.0) if low >= 0 else 0.0, delta)


def _on_segment(law: Law, high: int, start: float, delta: float) -> float:
    """Where H = delta between the loss `start` and the atom `high`, from the nearer end.

    With q the Q-mass above in units of that end, H falls from H(start) by q (e^(epsilon - start) -
    1), and grows towards smaller epsilon from H(end) by q (1 - e^(epsilon - end)): nothing cancels.
    """
    end = float(law.loss[high])
    from_start = end - start < NEAR
    origin = start if from_start else end
    q_above = float(law.p[high:] @ np.exp(origin - law.loss[high:]))
    gap = abs(delta_from_law(law, origin) - delta)
    if not q_above > 0:
        return end
    if from_start:
        return min(start + math.log1p(gap / q_above), end)
    return max(end + math.log1p(-min(gap / q_above, 1.0)), start) if gap < q_above else start


def tradeoff_from_law(law: Law, alpha: FloatArray) -> FloatArray:
    """Smallest type II error when testing Q (null) against P at type I error alpha.

    By [NeymanPearson33] the test rejects where the likelihood ratio is largest: beta is one minus
    the P-mass of the part with Q-mass alpha, linear between atoms.
    """
    q = np.concatenate(([0.0], np.cumsum(law.q[::-1])))
    # The P-mass that is left over, summed from its small end for relative accuracy of small beta.
    left = np.concatenate((np.cumsum(law.p)[::-1], [0.0]))
    # The first point with Q-mass alpha: far out, Q-masses may underflow to a plateau at zero.
    after = np.minimum(np.searchsorted(q, alpha, side="left"), q.size - 1)
    before = np.maximum(after - 1, 0)
    width = q[after] - q[before]
    share = np.where(width > 0, (alpha - q[before]) / np.where(width > 0, width, 1.0), 1.0)
    beta: FloatArray = left[before] + np.clip(share, 0.0, 1.0) * (left[after] - left[before])
    return np.where(after == 0, left[0], beta)
