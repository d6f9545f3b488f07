"""Optimal strategy with a banded inverse. The objective's minimisation is that of `band_mf`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hockeystick._numerics import series
from hockeystick._numerics.law import FloatArray
from hockeystick.strategies.band_mf import minimised, objective_for
from hockeystick.strategies.closed_forms import inverse_root_coefficients
from hockeystick.strategies.strategy import bands_within
from hockeystick.strategies.toeplitz import Toeplitz
from hockeystick.strategies.workloads import Error, Measure, Workload

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
    """The optimal strategy whose inverse has `bands` diagonals; largest column 1.

    Minimises the squared error times the squared sensitivity for the given participations, one by
    default, over inverses that are not positive off the diagonal [Kalinin25]. The inverse is
    1 - a_1 z - a_2 z^2 - ... with a_k >= 0 of sum at most 1, so C is non-negative and bounded. The
    a_k are parametrised by the fraction that each takes of what the earlier ones leave of 1:
    a_k = u_k (1 - u_1) ... (1 - u_(k-1)) with u_k in [0, 1]. An iteration costs O(steps log steps).

    Parameters
    ----------
    steps
        The number of updates, the size of C.
    bands
        The bandwidth of C^-1, at most `steps`; C itself is full.
    separation, participations
        The participations for which the sensitivity is taken: at least `separation` steps apart, at
        most so many. By default there is one; with a separation alone as many as fit.
    error
        "mean" minimises the mean squared error, "max" the largest.
    workload
        What the error is of: `iterates`, or the coefficients of a Toeplitz matrix such as
        `momentum`; prefix sums by default.

    Returns
    -------
    Toeplitz
        A strategy whose longest column has length 1.

    Examples
    --------
    >>> import hockeystick as hs
    >>> optimal = hs.strategies.band_inv_mf(100, bands=4)
    >>> print(f"{optimal.mean_squared_error():.4f}")
    6.0525
    """
    steps, bands = bands_within(steps, bands)
    goal = objective_for(
        steps,
        error=error,
        workload=workload,
        separation=separation,
        participations=participations,
    )
    # The length of a single column does not depend on the order of its entries.
    gap = steps if goal.pattern.sum() == 1 else separation or 1

    def objective(fractions: FloatArray) -> tuple[float, FloatArray]:
        d = _inverse(fractions)
        value, gradient = _objective(
            d, target=goal.target, pattern=goal.pattern, separation=gap, measure=goal.measure
        )
        return value, _chain(fractions, d, gradient)

    start = _fractions(inverse_root_coefficients(bands))
    fractions = minimised(objective, start, bounds=(0.0, LARGEST_FRACTION))
    d = _inverse(fractions)
    c = np.maximum(series.reciprocal(d, steps), 0.0)
    scale = float(np.linalg.norm(c))
    return Toeplitz(
        "band-inv-mf",
        steps=steps,
        coefficients=c / scale,
        inverse=d * scale,
        parameters={"bands": bands, **goal.parameters},
    )


# A fraction of one would leave nothing to later ones, and derivatives divide by what is left.
LARGEST_FRACTION = 1.0 - 1e-9


def _inverse(fractions: FloatArray) -> FloatArray:
    left = np.cumprod(np.concatenate(([1.0], 1.0 - fractions)))
    return np.concatenate(([1.0], -fractions * left[:-1]))


def _fractions(d: FloatArray) -> FloatArray:
    """The inverse of `_inverse`."""
    left = 1.0 + np.concatenate(([0.0], np.cumsum(d[1:])))[:-1]
    return -d[1:] / left if d.size > 1 else np.empty(0)


def _chain(fractions: FloatArray, d: FloatArray, gradient: FloatArray) -> FloatArray:
    """From the gradient in d to that in the fractions: d_k is linear in each u_j, j <= k."""
    left = np.cumprod(np.concatenate(([1.0], 1.0 - fractions)))[:-1]
    moved = gradient[1:] * d[1:]
    later = np.concatenate((np.cumsum(moved[::-1])[::-1][1:], [0.0]))
    return -gradient[1:] * left - later / (1.0 - fractions)


def _objective(
    d: FloatArray,
    *,
    target: FloatArray,
    pattern: FloatArray,
    separation: int,
    measure: Measure,
) -> tuple[float, FloatArray]:
    """Squared error of target * d times a bound on the squared sensitivity of 1 / d; gradient in d.

    The bound is the length of pattern * f, where f is the smallest sequence above c = 1 / d that
    does not increase from f_s on, s the separation: exact if c itself is one (see `Toeplitz`).
    """
    n = target.size
    b = series.multiply(d, target, n)
    error, in_b = measure(b)
    c = series.divide(series.padded(np.ones(1), n), d)
    source = _envelope_source(c, separation)
    total = series.multiply(pattern, c[source], n)
    length = float(total @ total)
    of_error = series.correlation(in_b, target, d.size)
    in_c = np.zeros(n)
    np.add.at(in_c, source, 2.0 * series.correlation(total, pattern, n))
    # c changes with d_j by -z^j c^2.
    of_length = -series.correlation(in_c, series.multiply(c, c, n), d.size)
    return error * length, length * of_error + error * of_length


def _envelope_source(c: FloatArray, separation: int) -> NDArray[np.int64]:
    """For each position from `separation` on, where the largest coefficient from there on is."""
    source = np.arange(c.size)
    tail = c[separation:][::-1]
    if tail.size:
        largest = np.maximum.accumulate(tail)
        newest = np.maximum.accumulate(np.where(tail == largest, np.arange(tail.size), 0))
        source[separation:] = c.size - 1 - newest[::-1]
    return source
