"""Optimal banded Toeplitz strategy."""

from __future__ import annotations

import numpy as np

from hockeystick._numerics import series
from hockeystick._numerics.law import FloatArray
from hockeystick.strategies.objective import minimised, objective_for
from hockeystick.strategies.strategy import bands_within
from hockeystick.strategies.toeplitz import Toeplitz
from hockeystick.strategies.workloads import Error, Measure, Workload

__all__ = ["band_mf"]

# No coefficient is smaller than this fraction of the one before it: keeps the logarithms of the
# ratios, in which the search moves, away from minus infinity. Optima have ratios above 1/3.
SMALLEST_RATIO = 1e-3


def band_mf(
    steps: int, bands: int, *, error: Error = "mean", workload: Workload = None
) -> Toeplitz:
    """The optimal banded Toeplitz strategy whose coefficients do not increase; largest column 1.

    Minimises the mean (or with `error="max"` the largest) squared error of the workload times the
    squared column norm [McKenna25].
    With participations at least `bands` steps apart the columns involved are disjoint, so the same
    strategy is the best for any number of them. The search is over the ratios c_k / c_(k-1) in
    [0.001, 1]: a series that does not increase has no root inside the unit disc (Eneström and
    Kakeya), so its inverse cannot overflow, whatever `steps` is. For prefix sums and momentum that
    is no restriction; for a workload that is not monotone it can be one. An iteration costs
    O(steps * bands).

    Parameters
    ----------
    steps
        The number of updates, the size of C.
    bands
        The bandwidth of C, at most `steps`.
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
    >>> optimal = hs.strategies.band_mf(100, bands=4)
    >>> print(f"{optimal.mean_squared_error():.4f}")
    15.3362
    """
    steps, bands = bands_within(steps, bands)
    goal = objective_for(steps, error=error, workload=workload)

    def objective(ratios: FloatArray) -> tuple[float, FloatArray]:
        c = series.from_ratios(ratios)
        value, gradient = _objective(c, goal.target, goal.measure)
        # c_k is a multiple of each of the ratios up to k.
        return value, np.cumsum((gradient * c)[:0:-1])[::-1] / ratios

    k = np.arange(1.0, bands)
    ratios = minimised(objective, (2 * k - 1) / (2 * k), bounds=(SMALLEST_RATIO, 1.0))
    c = series.from_ratios(ratios)
    return Toeplitz(
        "band-mf",
        steps=steps,
        coefficients=c / np.linalg.norm(c),
        parameters={"bands": bands, **goal.parameters},
    )


def _objective(c: FloatArray, target: FloatArray, measure: Measure) -> tuple[float, FloatArray]:
    """The measure of b = target / c, a series, times the sum of c_j^2, and its gradient in c.

    b_k changes with c_j by -(z^j b / c)_k, so the gradient of the first factor is a correlation of
    b with the adjoint filter's output.
    """
    b = series.divide(target, c)
    error, in_b = measure(b)
    norm = float(c @ c)
    back = series.adjoint_divide(in_b, c)
    gradient = -norm * series.correlation(back, b, c.size) + 2.0 * error * c
    return error * norm, gradient
