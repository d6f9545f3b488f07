"""Buffered linear Toeplitz strategy. The objective's minimisation is that of `band_mf`."""

from __future__ import annotations

import math

import numpy as np

from hockeystick._numerics import series
from hockeystick._numerics.law import FloatArray
from hockeystick.strategies.band_mf import minimised, objective_for
from hockeystick.strategies.recurrence import BufferedRecurrence
from hockeystick.strategies.strategy import bands_within
from hockeystick.strategies.toeplitz import Toeplitz
from hockeystick.strategies.workloads import Error, Measure, Workload

__all__ = ["blt"]

# Decays are kept this far, in units of the logit, from the ends of (0, 1): 1 - 1e-13 is the last
# that double precision resolves well.
LARGEST_LOGIT = 30.0
# Starting points: the slowest decay, in units of 1 / steps, and the fastest. The objective has
# several minima, close to each other; the better of the two results is taken.
DECAY_RANGES = ((0.3, 3.0), (2.0, 1.0))


def blt(
    steps: int,
    buffers: int,
    *,
    separation: int | None = None,
    participations: int | None = None,
    error: Error = "mean",
    workload: Workload = None,
) -> Toeplitz:
    """C = 1 + sum_i w_i z / (1 - r_i z), parameters optimised; largest column 1.

    A buffered linear Toeplitz matrix [Dvijotham24]: coefficients c_k = sum_i w_i r_i^(k-1), a sum
    of `buffers` exponentials, so the noise takes one row of memory for each. Minimises squared
    error times squared sensitivity for the given participations, one by default. Weights are
    positive and decays in (0, 1), so the coefficients after the first are positive and decrease. An
    iteration costs O(steps * buffers).

    Parameters
    ----------
    steps
        The number of updates, the size of C.
    buffers
        The number of exponentials; two to four are nearly optimal.
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
    >>> optimal = hs.strategies.blt(100, buffers=2)
    >>> print(f"{optimal.mean_squared_error():.4f}")
    5.3860
    """
    steps, buffers = bands_within(steps, buffers, name="buffers")
    goal = objective_for(
        steps,
        error=error,
        workload=workload,
        separation=separation,
        participations=participations,
    )

    def objective(x: FloatArray) -> tuple[float, FloatArray]:
        return _objective(x, target=goal.target, pattern=goal.pattern, measure=goal.measure)

    bounds = (-LARGEST_LOGIT, LARGEST_LOGIT)
    found = (
        minimised(objective, _start(steps, buffers, reach), bounds=bounds) for reach in DECAY_RANGES
    )
    x = min(found, key=lambda one: objective(one)[0])
    decays, multiples = _parameters(x)
    c = _coefficients(decays, multiples, steps)
    scale = float(np.linalg.norm(c))
    from hockeystick.strategies.recurrence_kernels import buffered_divide

    return Toeplitz(
        "blt",
        steps=steps,
        coefficients=c / scale,
        inverse=buffered_divide(series.padded(np.ones(1), steps), decays, multiples) * scale,
        recurrence=BufferedRecurrence(decays, multiples, 1.0 / scale),
        parameters={"buffers": buffers, **goal.parameters},
    )


def _start(steps: int, buffers: int, reach: tuple[float, float]) -> FloatArray:
    """A quadrature of the square root's own mixture of exponentials.

    binomial(2k, k) / 4^k is the k-th moment of the arcsine law. Its decays e^-s matter on scales s
    between 1/steps and 1, so those are spaced evenly in log s.
    """
    edges = np.geomspace(min(reach[0] / steps, reach[1] / 2), reach[1], buffers + 1)
    middles = np.sqrt(edges[:-1] * edges[1:])
    # The arcsine law of r = e^-s between the edges: (2/pi) arcsin(sqrt(r)).
    law = 2 / math.pi * np.arcsin(np.exp(-edges / 2))
    share = law[:-1] - law[1:]
    decay = np.exp(-middles)
    return np.concatenate((np.log(decay) - np.log(-np.expm1(-middles)), np.log(share * decay)))


def _parameters(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Decays from logits, weights from logarithms."""
    half = x.size // 2
    return 1.0 / (1.0 + np.exp(-x[:half])), np.exp(x[half:])


def _powers(decays: FloatArray, n: int) -> FloatArray:
    """r_i^(k-1) for k = 1, ..., n - 1, one row for each decay."""
    return np.exp(np.log(decays)[:, None] * np.arange(n - 1))


def _coefficients(decays: FloatArray, multiples: FloatArray, n: int) -> FloatArray:
    return np.concatenate(([1.0], multiples @ _powers(decays, n)))


def _objective(
    x: FloatArray, *, target: FloatArray, pattern: FloatArray, measure: Measure
) -> tuple[float, FloatArray]:
    """Squared error of target / c times the squared length of pattern * c, and its gradient."""
    from hockeystick.strategies.recurrence_kernels import buffered_adjoint, buffered_divide

    n = target.size
    decays, multiples = _parameters(x)
    powers = _powers(decays, n)
    c = np.concatenate(([1.0], multiples @ powers))
    b = buffered_divide(target, decays, multiples)
    error, in_b = measure(b)
    total = series.multiply(pattern, c, n)
    length = float(total @ total)
    back = buffered_adjoint(in_b, decays, multiples)
    of_error = -series.correlation(back, b, n)
    of_length = 2.0 * series.correlation(total, pattern, n)
    in_c = (length * of_error + error * of_length)[1:]
    # c_k = w r^(k-1): its derivative in log w is itself, in the logit of r (k-1) (1-r) c_k.
    terms = multiples[:, None] * powers
    in_logs = terms @ in_c
    in_logits = (terms * np.arange(n - 1)) @ in_c * (1.0 - decays)
    return error * length, np.concatenate((in_logits, in_logs))
