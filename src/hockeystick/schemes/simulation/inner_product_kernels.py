"""Inner products of a run's outputs with the columns of its strategy.

The likelihood ratio of a run depends on the outputs C x + s z only through their inner products
with the columns of C: the noise's part z^T C and the signal's part x^T C^T C, which this module
draws. They are the same for all noise levels. Kernels, arrays in, arrays out.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from hockeystick._numerics.law import FloatArray
from hockeystick.schemes.simulation.trajectory_kernels import IntArray

__all__ = ["TAPS", "banded_gram", "banded_noise", "banded_signal", "fill_normal", "put_together"]

# Coefficients that one pass of the correlation takes; their number is padded with zeros to it.
TAPS = 8


@njit(cache=True, nogil=True)
def fill_normal(rng: np.random.Generator, out: FloatArray) -> None:
    """Independent standard normal numbers."""
    flat = out.reshape(-1)
    for i in range(flat.size):
        flat[i] = rng.standard_normal()


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"})
def banded_noise(rng: np.random.Generator, taps: FloatArray, out: FloatArray) -> None:
    """Rows of z^T C for a Toeplitz C with these coefficients, padded to a multiple of TAPS.

    Outputs beyond the end of the run do not exist, so z is zero there. Slices instead of sums of
    indices, because they vectorise.
    """
    draws, steps = out.shape
    z = np.zeros(steps + taps.size)
    for d in range(draws):
        for i in range(steps):
            z[i] = rng.standard_normal()
        row = out[d]
        row[:] = 0.0
        for k in range(0, taps.size, 8):
            c0, c1, c2, c3 = taps[k], taps[k + 1], taps[k + 2], taps[k + 3]
            c4, c5, c6, c7 = taps[k + 4], taps[k + 5], taps[k + 6], taps[k + 7]
            z0, z1, z2, z3 = z[k:], z[k + 1 :], z[k + 2 :], z[k + 3 :]
            z4, z5, z6, z7 = z[k + 4 :], z[k + 5 :], z[k + 6 :], z[k + 7 :]
            for i in range(steps):
                row[i] += (
                    c0 * z0[i]
                    + c1 * z1[i]
                    + c2 * z2[i]
                    + c3 * z3[i]
                    + c4 * z4[i]
                    + c5 * z5[i]
                    + c6 * z6[i]
                    + c7 * z7[i]
                )


@njit(cache=True, nogil=True)
def banded_gram(coefficients: FloatArray, steps: int) -> FloatArray:
    """Row i holds the inner products of column i of a Toeplitz C with the columns i, i + 1, ...

    Columns are cut at the end of the run.
    """
    bands = coefficients.size
    gram = np.zeros((steps, bands))
    for lag in range(bands):
        total = 0.0
        for i in range(steps - 1 - lag, -1, -1):
            # The later column starts at i + lag; its entry k exists while i + lag + k < steps.
            k = steps - 1 - lag - i
            if k < bands - lag:
                total += coefficients[k] * coefficients[k + lag]
            gram[i, lag] = total
    return gram


@njit(cache=True, nogil=True)
def banded_signal(
    gram: FloatArray, where: IntArray, times: IntArray, number: IntArray, out: FloatArray
) -> None:
    """Rows of x^T C^T C, from the few steps that take part."""
    steps, bands = gram.shape
    for d in range(number.size):
        row = out[d]
        row[:] = 0.0
        for n in range(number[d]):
            j, copies = where[d, n], times[d, n]
            for lag in range(min(bands, steps - j)):
                row[j + lag] += copies * gram[j, lag]
            for lag in range(1, min(bands, j + 1)):
                row[j - lag] += copies * gram[j - lag, lag]


@njit(cache=True, nogil=True, fastmath={"contract", "nsz"})
def put_together(
    noise: FloatArray,
    per: float,
    signal: FloatArray,
    squared: float,
    less: FloatArray,
    out: FloatArray,
) -> None:
    """noise * per + signal * squared - less, row by row; no signal is an empty array."""
    draws, steps = out.shape
    for d in range(draws):
        row, rest = out[d], noise[d]
        if signal.shape[0] > 0:
            means = signal[d]
            for i in range(steps):
                row[i] = rest[i] * per + means[i] * squared - less[i]
        else:
            for i in range(steps):
                row[i] = rest[i] * per - less[i]
