"""Sums of the columns of C: what one example adds to C G, and how long that can be.

An example with clip norm 1 that takes part in the steps S changes C G by at most the length of the
sum of the columns S, because no entry of C is negative. The largest length over all patterns S that
are allowed is the sensitivity. For S = {i, i + b, i + 2b, ...} the sum is

    m_i = C e_i + C e_(i + b) + C e_(i + 2b) + ...

In a lower-triangular Toeplitz matrix with the coefficients c each m_i is the same sequence S,
shifted by i and cut off at the end of the run: S_u = c_u + c_(u-b) + c_(u-2b) + ...

Worst participation patterns of a matrix with a non-negative Gram matrix G.

A pattern i_1 < i_2 < ... with gaps of at least s has squared sensitivity
sum_a G(i_a, i_a) + 2 sum_(a < c) G(i_a, i_c). The m-th participation after i_a lies at i_a + m s or
later, so G(i_a, i_(a+m)) is at most the largest entry of row i_a from there on. Summing those
gives a bound in which every participation has a weight of its own, which a dynamic programme
maximises; where the maximising pattern attains its bound, the bound is exact.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hockeystick._numerics.law import FloatArray
from hockeystick._numerics.series import padded

__all__ = [
    "Sensitivity",
    "certified_sensitivity",
    "row_envelopes",
    "summed_columns",
    "toeplitz_envelopes",
    "toeplitz_gram",
    "toeplitz_products",
    "toeplitz_summed_columns",
    "worst_pattern",
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


# Decisions that the dynamic programme stores, 200 MB; beyond it the number of participations is
# taken as unlimited, which is an upper bound as well.
MOST_CHOICES = 2 * 10**8


def toeplitz_envelopes(c: FloatArray, n: int, separation: int) -> FloatArray:
    """E[m, i] = the largest G(i, j) over j >= i + m s for m >= 1, and G(i, i) for m = 0.

    G(i, i + d) is the sum of c_s c_(s + d) over s < n - i - d. O(n * bands) time.
    """
    bands = c.size
    count = (bands - 1) // separation
    result = np.zeros((count + 1, n))
    result[0] = _partial_sums(c * c, n)[::-1]
    running = np.zeros(n)
    for d in range(bands - 1, separation - 1, -1):
        sums = _partial_sums(c[: bands - d] * c[d:], n - d)[::-1]
        np.maximum(running[: n - d], sums, out=running[: n - d])
        if d % separation == 0:
            result[d // separation] = running
    return result


def row_envelopes(gram: FloatArray, separation: int) -> FloatArray:
    """The same for a Gram matrix given in full, symmetric with non-negative entries."""
    n = gram.shape[0]
    count = (n - 1) // separation
    result = np.zeros((count + 1, n))
    result[0] = np.diagonal(gram)
    for i in range(n):
        largest = np.maximum.accumulate(gram[i, i:][::-1])[::-1][separation::separation]
        result[1 : largest.size + 1, i] = largest
    used = np.flatnonzero(result.any(axis=1))
    return result[: int(used[-1]) + 1]


def worst_pattern(
    envelopes: FloatArray, separation: int, participations: int
) -> tuple[float, NDArray[np.int64]]:
    """The bound on the squared sensitivity, and the pattern that maximises it."""
    n = envelopes.shape[1]
    # w[r, i]: the weight of a participation at i that at most r others follow.
    weights = envelopes.copy()
    weights[1:] *= 2.0
    weights = np.cumsum(weights, axis=0)
    if participations * separation >= n or participations * n > MOST_CHOICES:
        value, taken = _maximise_unlimited(weights[-1], separation)
    else:
        value, taken = _maximise(weights, separation, participations)
    return float(value), np.flatnonzero(taken)


def _partial_sums(terms: FloatArray, n: int) -> FloatArray:
    """Sums of the first 1, ..., n terms; there are no terms after the given ones."""
    sums = np.cumsum(terms[:n])
    return np.concatenate((sums, np.full(n - sums.size, sums[-1])))


@njit(cache=True, nogil=True)
def _maximise_unlimited(weights: FloatArray, separation: int) -> tuple[float, NDArray[np.bool_]]:
    """As many participations as fit. A weight counts all that could follow."""
    n = weights.size
    best = np.zeros(n + separation)
    for i in range(n - 1, -1, -1):
        best[i] = max(best[i + 1], weights[i] + best[i + separation])
    taken = np.zeros(n, np.bool_)
    i = 0
    while i < n:
        taken[i] = weights[i] + best[i + separation] >= best[i + 1]
        i += separation if taken[i] else 1
    return best[0], taken


@njit(cache=True, nogil=True)
def _maximise(
    weights: FloatArray, separation: int, participations: int
) -> tuple[float, NDArray[np.bool_]]:
    """At most `participations`: one layer for each number r of participations that may follow."""
    most, n = weights.shape[0] - 1, weights.shape[1]
    before = np.zeros(n + separation)
    here = np.zeros(n + separation)
    takes = np.zeros((participations, n), np.bool_)
    for r in range(participations):
        w = weights[min(r, most)]
        for i in range(n - 1, -1, -1):
            take = w[i] + before[i + separation]
            takes[r, i] = take >= here[i + 1]
            here[i] = take if takes[r, i] else here[i + 1]
        before, here = here, before
        here[:] = 0.0
    taken = np.zeros(n, np.bool_)
    r, i = participations - 1, 0
    while i < n and r >= 0:
        if takes[r, i]:
            taken[i] = True
            i += separation
            r -= 1
        else:
            i += 1
    return before[0], taken
