"""Optimal strategy with a banded inverse."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hockeystick._numerics import series
from hockeystick._numerics.law import FloatArray
from hockeystick.strategies.bisr import inverse_root_coefficients
from hockeystick.strategies.objective import Error, goal, minimised
from hockeystick.strategies.strategy import bands_within
from hockeystick.strategies.toeplitz import Toeplitz
from hockeystick.strategies.workloads import Workload

__all__ = ["band_inv_mf"]


def band_inv_mf(
    steps: int,
    bands: int,
    *,
    separation: int | None = None,
    participations: int | None = None,
    error: Error = "mean",
    workload: Workload = None,
) -> Toeplitz:
    """A strategy whose inverse has `bands` diagonals, optimised; largest column 1.

    Minimises the squared error times the squared sensitivity for the given participations, one by
    default, over inverses that are not positive off the diagonal (Kalinin, McKenna, Upadhyay &
    Lampert 2025, "Back to square roots"). The inverse is 1 - a_1 z - a_2 z^2 - ... with a_k >= 0 of
    sum at most 1, so C is non-negative and bounded. The a_k are found as shares of what the ones
    before have left: a_k = u_k (1 - u_1) ... (1 - u_(k-1)) with u_k in [0, 1].
    """
    steps, bands = bands_within(steps, bands)
    aim = goal(
        steps,
        error=error,
        workload=workload,
        separation=separation,
        participations=participations,
    )
    # A single column has its length, in whatever order its entries are.
    gap = steps if aim.pattern.sum() == 1 else separation or 1

    def objective(shares: FloatArray) -> tuple[float, FloatArray]:
        d = _inverse(shares)
        value, gradient = _objective(
            d, target=aim.target, pattern=aim.pattern, separation=gap, weights=aim.weights
        )
        return value, _chain(shares, d, gradient)

    shares = minimised(objective, _shares(inverse_root_coefficients(bands)), bounds=(0.0, LARGEST))
    d = _inverse(shares)
    c = np.maximum(series.reciprocal(d, steps), 0.0)
    scale = float(np.linalg.norm(c))
    return Toeplitz(
        "band-inv-mf",
        steps=steps,
        coefficients=c / scale,
        inverse=d * scale,
        parameters={"bands": bands, **aim.described},
    )


# A share of one would leave nothing to the ones after it.
LARGEST = 1.0 - 1e-9


def _inverse(shares: FloatArray) -> FloatArray:
    left = np.cumprod(np.concatenate(([1.0], 1.0 - shares)))
    return np.concatenate(([1.0], -shares * left[:-1]))


def _shares(d: FloatArray) -> FloatArray:
    """The inverse of `_inverse`."""
    left = 1.0 + np.concatenate(([0.0], np.cumsum(d[1:])))[:-1]
    return -d[1:] / left if d.size > 1 else np.empty(0)


def _chain(shares: FloatArray, d: FloatArray, gradient: FloatArray) -> FloatArray:
    """From the gradient in d to that in the shares: d_k is linear in each u_j, j <= k."""
    left = np.cumprod(np.concatenate(([1.0], 1.0 - shares)))[:-1]
    moved = gradient[1:] * d[1:]
    later = np.concatenate((np.cumsum(moved[::-1])[::-1][1:], [0.0]))
    return -gradient[1:] * left - later / (1.0 - shares)


def _objective(
    d: FloatArray,
    *,
    target: FloatArray,
    pattern: FloatArray,
    separation: int,
    weights: FloatArray,
) -> tuple[float, FloatArray]:
    """Squared error of target * d times a bound on the squared sensitivity of 1 / d; gradient in d.

    The bound is the length of pattern * f, where f is the smallest sequence above c = 1 / d that
    does not increase from f_s on, s the separation: exact if c itself is one (see `Toeplitz`).
    """
    n = target.size
    b = series.multiply(d, target, n)
    error = float((weights * b) @ b)
    c = series.divide(series.padded(np.ones(1), n), d)
    source = _falling_source(c, separation)
    total = series.multiply(pattern, c[source], n)
    length = float(total @ total)
    of_error = 2.0 * series.correlation(weights * b, target, d.size)
    in_c = np.zeros(n)
    np.add.at(in_c, source, 2.0 * series.correlation(total, pattern, n))
    # c changes with d_j by -z^j c^2.
    of_length = -series.correlation(in_c, series.multiply(c, c, n), d.size)
    return error * length, length * of_error + error * of_length


def _falling_source(c: FloatArray, separation: int) -> NDArray[np.int64]:
    """For each position from `separation` on, where the largest coefficient from there on is."""
    source = np.arange(c.size)
    tail = c[separation:][::-1]
    if tail.size:
        largest = np.maximum.accumulate(tail)
        newest = np.maximum.accumulate(np.where(tail == largest, np.arange(tail.size), 0))
        source[separation:] = c.size - 1 - newest[::-1]
    return source
