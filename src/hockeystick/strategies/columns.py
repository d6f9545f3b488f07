"""Sums of the columns of C: what one example adds to C G, and how long that can be.

An example with clip norm 1 that takes part in the steps S changes C G by at most the length of the
sum of the columns S, because no entry of C is negative. The largest length over all patterns S that
are allowed is the sensitivity. For S = {i, i + b, i + 2b, ...} the sum is

    m_i = C e_i + C e_(i + b) + C e_(i + 2b) + ...

In a lower-triangular Toeplitz matrix with the coefficients c each m_i is the same sequence S,
shifted by i and cut off at the end of the run: S_u = c_u + c_(u-b) + c_(u-2b) + ...
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hockeystick._numerics.law import FloatArray
from hockeystick._numerics.series import padded

__all__ = [
    "Sensitivity",
    "certified_sensitivity",
    "summed_columns",
    "toeplitz_gram",
    "toeplitz_products",
    "toeplitz_summed_columns",
]

# How far, relatively, a pattern may stay below a bound that it attains up to rounding.
ROUNDING = 1e-12
# Shorter series are multiplied directly. Transforms of up to 10^8 numbers are off by less than this
# share of the largest product.
DIRECT, FOURIER_ROUNDING = 4096, 1e-13


class Sensitivity(float):
    """A sensitivity: a number that also says whether it is exact, and for which pattern.

    The number itself is an upper bound on the sensitivity.

    Attributes
    ----------
    exact : bool
        Whether the pattern attains the number.
    pattern : Sequence of int
        The steps of the participations behind the number, counted from 0.

    Examples
    --------
    >>> import hockeystick as hs
    >>> found = hs.strategies.bsr(100, bands=4).sensitivity(separation=25)
    >>> found.exact, found.pattern
    (True, range(0, 100, 25))
    """

    exact: bool
    pattern: Sequence[int]

    def __new__(cls, value: float, *, exact: bool, pattern: Sequence[int]) -> Sensitivity:
        """A float with two more facts."""
        number = super().__new__(cls, value)
        number.exact = exact
        number.pattern = pattern
        return number

    def __getnewargs_ex__(self) -> tuple[tuple[float], dict[str, object]]:
        return (float(self),), {"exact": self.exact, "pattern": self.pattern}


def certified_sensitivity(bound: float, attained: float, pattern: NDArray[np.int64]) -> Sensitivity:
    """The root of `bound`, exact if the columns of the pattern attain it; both are squared."""
    exact = attained >= bound * (1 - ROUNDING)
    return Sensitivity(max(bound, attained) ** 0.5, exact=exact, pattern=_positions(pattern))


def _positions(pattern: NDArray[np.int64]) -> Sequence[int]:
    """Evenly spaced positions as a range, which takes no memory."""
    gaps = np.diff(pattern)
    first, last = int(pattern[0]), int(pattern[-1])
    if gaps.size and (gaps == gaps[0]).all():
        return range(first, last + 1, int(gaps[0]))
    return (first,) if not gaps.size else tuple(pattern.tolist())


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
    columns overlap are exactly zero.
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


def toeplitz_products(c: FloatArray, n: int, spacing: int) -> FloatArray:
    """At index d a bound on all inner products of m_i and m_(i+d), in O(n log n).

    sum_(v < n-i-d) S_v S_(v+d) is largest for i = 0. Columns that end before the next participation
    are the coefficients c over and over: the products are rounds r_d + (rounds - 1) r_(spacing-d),
    r those of c with itself, if the last round is counted in full.
    """
    used, rounds = min(spacing, n), -(-n // spacing)
    if c.size > spacing:
        return padded(_autocorrelation(_periodic_sums(c, n, spacing)), used)
    single = padded(_autocorrelation(c), spacing + 1)
    across: FloatArray = rounds * single[:used] + (rounds - 1) * single[::-1][:used]
    return across


def _autocorrelation(series: FloatArray) -> FloatArray:
    """sum_v s_v s_(v+d) by d for s >= 0, rounded up where it comes from a Fourier transform."""
    if series.size <= DIRECT:
        direct: FloatArray = np.correlate(series, series, "full")[series.size - 1 :]
        return direct
    size = 1 << (2 * series.size - 1).bit_length()
    spectrum = np.abs(np.fft.rfft(series, size)) ** 2
    products: FloatArray = np.maximum(np.fft.irfft(spectrum, size)[: series.size], 0.0)
    products += FOURIER_ROUNDING * products[0]
    return products


def _periodic_sums(c: FloatArray, n: int, spacing: int) -> FloatArray:
    """S_0, ..., S_(n-1)."""
    rounds = -(-n // spacing)
    if rounds == 1:
        return padded(c, n)
    sums: FloatArray = np.cumsum(padded(c, rounds * spacing).reshape(rounds, spacing), axis=0)
    return sums.ravel()[:n]
