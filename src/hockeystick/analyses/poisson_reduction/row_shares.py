"""How blocks whose columns meet share the noise of each row.

Step i of a block of L steps has the entries c_0, c_1, ... in the rows i, i + 1, ... of the block,
which reach into the next ones. Row u of a block, of all L + bands - 1, gets the share w_u of the
noise's variance; the rows u, u + L, u + 2L, ... belong to different blocks and are the same row of
the run, so their shares add up to one. The squared length of step i becomes sum_d c_d^2 / w_(i+d),
and the longest step counts. All shares are valid; the best ones are a saddle point: for weights v
on the steps the best share is in proportion to sqrt(sum_i v_i c_(u-i)^2), and the weights move to
the longest steps.
"""

from __future__ import annotations

import math

import numpy as np

from hockeystick._numerics.law import FloatArray

__all__ = ["shared_length"]

# Rounds of the search, and how fast weights follow the lengths.
ROUNDS, RATE = 100, 0.5
TINY = 1e-300


def shared_length(coefficients: FloatArray, size: int) -> float:
    """The longest step of a block with the best shares that are found: O(size * bands) a round."""
    squares = coefficients**2
    rows = size + squares.size - 1
    weights = np.full(size, 1.0 / size)
    best = math.inf
    for _ in range(ROUNDS):
        shares = _best_shares(np.convolve(squares, weights), size)
        lengths = np.correlate(1 / np.maximum(shares[:rows], TINY), squares, mode="valid")
        longest = float(lengths.max())
        best = min(best, longest)
        weights *= (lengths / longest) ** RATE
        weights /= weights.sum()
    return math.sqrt(best)


def _best_shares(energy: FloatArray, size: int) -> FloatArray:
    """In proportion to the square root of the energy, among rows that are the same in the run."""
    blocks = -(-energy.size // size)
    roots = np.zeros(blocks * size)
    roots[: energy.size] = np.sqrt(energy)
    by_row = roots.reshape(blocks, size)
    shares: FloatArray = (by_row / by_row.sum(axis=0)).ravel()
    return shares
