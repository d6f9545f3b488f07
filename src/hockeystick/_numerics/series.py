"""Truncated power series: lower-triangular Toeplitz matrices by their first column.

Products of such matrices are products of series, the inverse matrix is the reciprocal series, and
applying an inverse is a recursive filter. Truncation after n terms is exact: later coefficients
never enter earlier ones.
"""

from __future__ import annotations

import numpy as np

from hockeystick._numerics.law import FloatArray

__all__ = [
    "adjoint_divide",
    "correlation",
    "divide",
    "from_ratios",
    "multiply",
    "padded",
    "reciprocal",
    "trimmed",
]

# Longer series are multiplied by FFT: O(n log n), accurate relative to the largest product.
DIRECT = 512
# Recursive filters run in pieces; between two of them a memory below the second number is
# forgotten. What is left of a decaying series would otherwise end among the subnormal numbers,
# where every operation takes a hundred times as long.
PIECE, NOTHING = 8192, 1e-290
# Zeros after a coefficient that is smaller than this are a tail that left floating point.
UNDERFLOW = 1e-200
# Newton's reciprocal y of c is kept if no coefficient of c y - 1 is larger: rounding alone leaves
# 1e-16 times the largest product.
RESIDUAL = 1e-10


def padded(series: FloatArray, n: int) -> FloatArray:
    """The series with exactly n coefficients."""
    result = np.zeros(n)
    result[: min(n, series.size)] = series[:n]
    return result


def trimmed(series: FloatArray) -> FloatArray:
    """The series without trailing zeros.

    Zeros at the end of a tail that became too small for floating point are not zeros, and stay.
    """
    last = int(np.flatnonzero(series)[-1])
    return series[: last + 1] if abs(series[last]) > UNDERFLOW else series


def from_ratios(ratios: FloatArray) -> FloatArray:
    """The series that starts with 1 and has the given ratios of neighbouring coefficients."""
    return np.cumprod(np.concatenate((np.ones(1), ratios)), dtype=np.float64)


def multiply(a: FloatArray, b: FloatArray, n: int) -> FloatArray:
    """The first n coefficients of the product."""
    a, b = a[:n], b[:n]
    if min(a.size, b.size) <= DIRECT:
        return padded(np.convolve(a, b), n)
    from scipy.signal import fftconvolve

    return padded(fftconvolve(a, b), n)


def divide(x: FloatArray, c: FloatArray) -> FloatArray:
    """The first x.size coefficients of x / c, in O(x.size * c.size)."""
    from scipy.signal import lfilter

    result = np.empty(x.size)
    memory = np.zeros(c.size - 1)
    for start in range(0, x.size, PIECE):
        piece = slice(start, start + PIECE)
        result[piece], memory = lfilter([1.0], c, x[piece], zi=memory)
        memory[np.abs(memory) < NOTHING] = 0.0
    return result


def adjoint_divide(x: FloatArray, c: FloatArray) -> FloatArray:
    """The transposed inverse matrix applied to x: the same filter, run backwards."""
    return divide(x[::-1], c)[::-1]


def reciprocal(c: FloatArray, n: int) -> FloatArray:
    """The first n coefficients of 1 / c.

    Short series by the recursion itself; long ones by Newton's iteration y <- y (2 - c y), which
    doubles the number of correct coefficients: O(n log n), unless the coefficients grow so fast
    that it loses its accuracy.
    """
    if c.size <= DIRECT:
        return divide(padded(np.ones(1), n), c)
    known = DIRECT
    y = divide(padded(np.ones(1), known), c[:known])
    while known < n:
        known = min(2 * known, n)
        rest = -multiply(c, y, known)
        rest[0] += 2.0
        y = multiply(y, rest, known)
    y[0] = 1.0 / c[0]
    left = multiply(c, y, n)
    left[0] -= 1.0
    # FFT is accurate relative to the largest coefficient only: not enough if the series grows.
    return y if np.abs(left).max() < RESIDUAL else divide(padded(np.ones(1), n), c)


def correlation(a: FloatArray, b: FloatArray, lags: int) -> FloatArray:
    """Sums over m of a_(m + j) b_m for j = 0, ..., lags - 1; a and b have the same length."""
    n = a.size
    if lags <= DIRECT:
        return np.array([a[j:] @ b[: n - j] for j in range(lags)])
    return multiply(a[::-1], b, n)[::-1][:lags]
