"""Drawing participations, and inner products of a run's outputs with the strategy's columns.

The likelihood ratio of a run depends on the outputs C x + s z only through their inner products
with the columns of C: the noise's part z^T C and the signal's part x^T C^T C. They are the same for
all noise levels. A draw of x is a row of `where`, the steps in which one example or one user's
examples take part, in increasing order, with how many copies take part there in `times`; `number`
says how many entries of the row are in use. Kernels, arrays in, arrays out.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import njit

from hockeystick._numerics.law import FloatArray

__all__ = [
    "TAPS",
    "banded_gram",
    "banded_noise",
    "banded_signal",
    "cyclic_trajectories",
    "fill_normal",
    "min_sep_trajectories",
    "put_together",
    "user_trajectories",
]

IntArray = npt.NDArray[np.int64]

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
        row, white = out[d], noise[d]
        if signal.shape[0] > 0:
            means = signal[d]
            for i in range(steps):
                row[i] = white[i] * per + means[i] * squared - less[i]
        else:
            for i in range(steps):
                row[i] = white[i] * per - less[i]


@njit(cache=True, nogil=True)
def _waiting_time(rng: np.random.Generator, log_miss: float) -> int:
    """Failures before the first success of draws that fail with probability e^log_miss."""
    if log_miss == -math.inf:
        return 0
    # 1 - u lies in (0, 1]; beyond any run is far enough.
    return int(min(math.log1p(-rng.random()) / log_miss, 1e15))


@njit(cache=True, nogil=True)
def _first_at_most(cumulative: FloatArray, u: float) -> int:
    """The smallest index whose cumulative weight exceeds u times the total."""
    target = u * cumulative[-1]
    for i in range(cumulative.size):
        if target < cumulative[i]:
            return i
    return int(cumulative.size) - 1


@njit(cache=True, nogil=True)
def min_sep_trajectories(
    rng: np.random.Generator,
    chances: FloatArray,
    starts: FloatArray,
    where: IntArray,
    number: IntArray,
) -> None:
    """b-min-sep: an eligible example joins with the step's probability, and is then excluded.

    `starts` are the cumulative weights of being eligible from step 0, 1, ... on; there are
    `separation` of them. The next step is proposed with the largest probability, and accepted with
    its own relative to that, so that work is in proportion to the participations.
    """
    steps, separation = chances.size, starts.size
    largest = chances.max()
    log_miss = math.log1p(-largest) if largest < 1 else -math.inf
    for d in range(number.size):
        count = 0
        step = _first_at_most(starts, rng.random()) + _waiting_time(rng, log_miss)
        while step < steps:
            if chances[step] == largest or rng.random() * largest < chances[step]:
                where[d, count] = step
                count += 1
                step += separation
            else:
                step += 1
            step += _waiting_time(rng, log_miss)
        number[d] = count


@njit(cache=True, nogil=True)
def user_trajectories(
    rng: np.random.Generator,
    copies: FloatArray,
    ages: FloatArray,
    steps: int,
    where: IntArray,
    times: IntArray,
    number: IntArray,
) -> None:
    """[DongGanesh26, Algorithm 3] for one user: joins if drawn, unless drawn shortly before.

    `copies` are the probabilities of 0, 1, 2, ... of the user's examples being drawn in a step.
    `ages` are cumulative weights: entry a < separation - 1 of the last draw having been a + 1 steps
    before the first step, the last entry of being eligible.
    """
    separation = ages.size
    none = copies[0]
    log_miss = math.log(none) if none > 0 else -math.inf
    some = np.cumsum(copies[1:])
    for d in range(number.size):
        count = 0
        last = -1 - _first_at_most(ages, rng.random())
        step = _waiting_time(rng, log_miss)
        while step < steps:
            if step - last >= separation:
                where[d, count] = step
                times[d, count] = 1 + _first_at_most(some, rng.random())
                count += 1
            last = step
            step += 1 + _waiting_time(rng, log_miss)
        number[d] = count


@njit(cache=True, nogil=True)
def cyclic_trajectories(
    rng: np.random.Generator,
    rate: float,
    groups: int,
    steps: int,
    where: IntArray,
    number: IntArray,
) -> None:
    """A secret uniform group, sampled in each of its steps."""
    log_miss = math.log1p(-rate) if rate < 1 else -math.inf
    for d in range(number.size):
        count = 0
        phase = min(int(rng.random() * groups), groups - 1)
        step = phase + groups * _waiting_time(rng, log_miss)
        while step < steps:
            where[d, count] = step
            count += 1
            step += groups * (1 + _waiting_time(rng, log_miss))
        number[d] = count
