"""Bounds by distance on a matrix whose edges differ from its middle.

The values are those of the middle, and amplitudes rise or fall towards the edges. Entries that are
still above A_i A_j values[|i - j|] are lowered to it, for which the diagonal pays on either side:
their difference is the sum of a positive semidefinite and a non-negative matrix (docs/gram.md).
"""

from __future__ import annotations

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick.analyses.gram.order.lag_bounds import LagBounds, is_ring

__all__ = ["paid_cover"]

ROUNDS = 30
# Sums of rounded numbers, relative to the diagonal.
MARGIN = 1e-10


def paid_cover(gram: FloatArray) -> LagBounds:
    """Amplitudes A and values v such that (A_i A_j v_|i-j|) dominates the matrix; O(bins^2)."""
    bins = gram.shape[0]
    values = np.array([max(np.median(np.diagonal(gram, d)), 0.0) for d in range(bins)])
    ring = is_ring(gram)
    if ring:
        values[1:] = np.maximum(values[1:], values[:0:-1])
    i = np.arange(bins)
    middle = values[np.abs(i[:, None] - i)]
    squares = np.diagonal(gram) / values[0]
    # About where each entry of the diagonal pays for its own row, and no more.
    for _ in range(ROUNDS):
        squares = (squares + _needed(gram, middle, squares)) / 2
    # More than that: larger amplitudes leave less to be paid for, so all are enough now.
    squares = np.maximum(squares, _needed(gram, middle, squares)) * (1 + MARGIN)
    highest = float(squares.max())
    return LagBounds(values * highest, np.sqrt(squares / highest), ring)


def _needed(gram: FloatArray, middle: FloatArray, squares: FloatArray) -> FloatArray:
    """The squares of amplitudes that pay for the rows, if the others are as given."""
    amplitudes = np.sqrt(squares)
    deficits = np.maximum(gram - np.outer(amplitudes, amplitudes) * middle, 0.0)
    np.fill_diagonal(deficits, 0.0)
    result: FloatArray = (np.diagonal(gram) + deficits.sum(axis=1)) / middle[0, 0]
    return result
