"""One random shift that dominates every step of a segment of the run.

In each step the example adds a level a_i, i its bin; given the earlier outputs the bin has a
posterior law. If all odds of step n are bounded by X_i >= y |B_i| (posterior_tails.py), its level
is stochastically smaller than the one made here, and a random shift that is stochastically larger
gives a larger divergence in both directions (Choquette-Choo et al. 2024, Corollary 4.4).

Sort the levels of a step from the top and let U_1, U_2, ... be the groups of equal levels, B_q what
lies below U_q. The odds of U_q against B_q are at most |U_q| / (|B_q| y), so the bin lies outside
the first q groups with a probability of at least prod_(s<=q) |B_s| y / (|U_s| + |B_s| y)
(sampling_free_matrix_allocation, Lemma 4.3, for groups). For a segment the smallest of these, and
the largest level, are taken at each rank.
"""

from __future__ import annotations

import numpy as np

from hockeystick._numerics.law import FloatArray

__all__ = ["dominating_levels"]


def dominating_levels(levels: FloatArray, share: float) -> tuple[FloatArray, FloatArray]:
    """Levels from the largest to the smallest, and their weights, for the rows of `levels`."""
    sorted_levels = -np.sort(-levels, axis=1)
    outside = _outside(sorted_levels, share)
    weights = -np.diff(np.concatenate(([1.0], outside)))
    return sorted_levels.max(axis=0), weights


def _outside(sorted_levels: FloatArray, share: float) -> FloatArray:
    """A lower bound on the probability outside the first r ranks, for r = 1, ..., b."""
    b = sorted_levels.shape[1]
    ends = np.ones_like(sorted_levels, dtype=bool)
    ends[:, :-1] = sorted_levels[:, :-1] > sorted_levels[:, 1:]
    lowest = np.full(b, np.inf)
    for pattern in np.unique(ends, axis=0):
        last = np.flatnonzero(pattern) + 1  # ranks at which groups end
        size = np.diff(np.concatenate(([0], last)))
        below = (b - last) * share
        lowest[pattern] = np.minimum(lowest[pattern], np.cumprod(below / (size + below)))
    # Ranks inside every group are free: nothing is placed there. Larger ranks only lose mass.
    outside: FloatArray = np.minimum.accumulate(np.minimum(lowest, 1.0))
    return outside
