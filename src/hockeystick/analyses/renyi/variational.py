"""Moments of 1/LR for a uniform Gaussian mixture, by a lower bound on log LR.

With K = Gram(m) / s^2 and xi ~ N(0, K) under Q, LR = sum_i e^(xi_i - K_ii/2) / b. For any weights w
on the bins (Jensen's inequality, Gibbs' variational principle),

    log LR >= sum_i w_i (xi_i - K_ii/2) - KL(w || uniform),

which is a Gaussian variable, so

    log E_Q[LR^(1-a)] / (a - 1) <= sum_i w_i K_ii/2 + KL(w || uniform) + (a - 1)/2 w^T K w.

Sampling_free_matrix_allocation, Lemma 3.4, is the case of uniform weights. The right-hand side is
convex in w; every w gives a valid bound, so the search for the best need not converge.
"""

from __future__ import annotations

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick._numerics.moments import PowerMoments, rounded_up

__all__ = ["reversed_moments"]

# The search for weights ends after so many steps, or when one of them gains less than this.
MOST_STEPS, SMALLEST_GAIN = 100, 1e-9
# A step that gains is followed by a longer one; one that does not, by one half as long.
GROWTH, SMALLEST_STRIDE = 1.5, 1e-4
# Products of numbers that all orders together may take, unless said otherwise.
MOST_PRODUCTS = 1e9


def reversed_moments(
    kernel: FloatArray, largest: int, products: float = MOST_PRODUCTS
) -> PowerMoments:
    """log E_Q[LR^(1-a)] at index a, for a = 0, ..., largest, from the best weights found."""
    b = kernel.shape[0]
    log = np.zeros(largest + 1)
    search = _Search(kernel)
    steps = int(min(MOST_STEPS, products / (b**2 * max(largest, 1))))
    for a in range(2, largest + 1):
        log[a] = (a - 1) * search.best(a - 1.0, steps)
    return PowerMoments(rounded_up(log))


class _Search:
    """Mirror descent: at the optimum log w_i = -K_ii/2 - factor (K w)_i, up to a constant.

    The weights of one factor are the start for the next. They are kept as logs, so that those which
    underflow can come back.
    """

    def __init__(self, kernel: FloatArray) -> None:
        self._kernel = kernel
        self._half = np.diagonal(kernel) / 2
        self._log = np.full(kernel.shape[0], -np.log(kernel.shape[0]))

    def best(self, factor: float, steps: int) -> float:
        """The smallest bound found for this factor."""
        pull, value = self._bound(self._log, factor)
        stride = 1.0
        for _ in range(steps):
            moved = (1 - stride) * self._log - stride * (self._half + factor * pull)
            moved -= np.logaddexp.reduce(moved)
            new_pull, new_value = self._bound(moved, factor)
            gain = value - new_value
            if gain > 0:
                self._log, pull, value = moved, new_pull, new_value
                stride = min(1.0, GROWTH * stride)
                if gain < SMALLEST_GAIN * value:
                    break
            else:
                stride /= 2
                if stride < SMALLEST_STRIDE or gain > -SMALLEST_GAIN * value:
                    break
        return value

    def _bound(self, log: FloatArray, factor: float) -> tuple[FloatArray, float]:
        """K w and the bound, for the weights with these logs."""
        weights = np.exp(log)
        pull = self._kernel @ weights
        relative = float(weights @ (log + np.log(log.size)))
        return pull, float(weights @ self._half) + relative + factor / 2 * float(weights @ pull)
