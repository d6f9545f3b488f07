"""Sums of the columns of a matrix that are a fixed number of steps apart, and their Gram matrix.

Column i of the result is m_i = C e_i + C e_(i + b) + C e_(i + 2b) + ...: what an example adds to
C G if it takes part in the steps i, i + b, i + 2b, ... In a lower-triangular Toeplitz matrix with
the coefficients c each m_i is the same sequence S, shifted by i and cut off at the end of the run:
S_u = c_u + c_(u-b) + c_(u-2b) + ...
"""

from __future__ import annotations

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick._numerics.series import padded

__all__ = ["summed_columns", "toeplitz_gram", "toeplitz_summed_columns"]


def summed_columns(matrix: FloatArray, spacing: int) -> FloatArray:
    """The m_i of any matrix, as columns; as many as there are, at most `spacing`."""
    n = matrix.shape[0]
    used = min(spacing, n)
    result = np.zeros((n, used))
    for start in range(0, n, spacing):
        block = matrix[:, start : start + used]
        result[:, : block.shape[1]] += block
    return result


def toeplitz_summed_columns(c: FloatArray, n: int, spacing: int) -> FloatArray:
    """The m_i of the Toeplitz matrix with coefficients c, O(n spacing)."""
    sums = _periodic_sums(c, n, spacing)
    used = min(spacing, n)
    result = np.zeros((n, used))
    for i in range(used):
        result[i:, i] = sums[: n - i]
    return result


def toeplitz_gram(c: FloatArray, n: int, spacing: int) -> FloatArray:
    """The inner products of the m_i in O(n min(bands, spacing) + spacing^2).

    m_i and m_(i+d) have the inner product sum_(v < n-i-d) S_v S_(v+d): one sum for each lag d, to
    which every step towards the front of the run adds one term. Entries that are zero because no
    columns meet are exactly zero.
    """
    sums = _periodic_sums(c, n, spacing)
    used = min(spacing, n)
    common = n - used + 1
    gram = np.zeros((used, used))
    for d in range(used):
        if d < c.size or d > spacing - c.size:
            gram[used - 1 - d, used - 1] = sums[:common] @ sums[d : d + common]
    ends = sums[n - used :][::-1]  # S_(n-1-i) at index i
    for i in range(used - 2, -1, -1):
        gram[i, i:-1] = gram[i + 1, i + 1 :] + ends[i] * ends[i:-1]
    upper = np.triu(gram, 1)
    result: FloatArray = gram + upper.T
    return result


def _periodic_sums(c: FloatArray, n: int, spacing: int) -> FloatArray:
    """S_0, ..., S_(n-1)."""
    rounds = -(-n // spacing)
    if rounds == 1:
        return padded(c, n)
    sums: FloatArray = np.cumsum(padded(c, rounds * spacing).reshape(rounds, spacing), axis=0)
    return sums.ravel()[:n]
