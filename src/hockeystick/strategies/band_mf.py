"""The optimal banded Toeplitz strategy, and the objective that optimised strategies minimise."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from hockeystick._numerics import series
from hockeystick._numerics.law import FloatArray
from hockeystick._validate import positive_integer, storable
from hockeystick.errors import InvalidParameter
from hockeystick.strategies.strategy import bands_within
from hockeystick.strategies.toeplitz import Toeplitz
from hockeystick.strategies.workloads import Error, LinearWorkload, Measure, Workload, as_workload

__all__ = ["band_mf", "minimised", "objective_for", "participation_series"]

Function = Callable[[FloatArray], tuple[float, FloatArray]]

# L-BFGS-B ends at this projected gradient of the objective's logarithm, or where an iteration gains
# less than GAIN, about the rounding of the logarithm. It is restarted with its curvature memory
# cleared while a restart gains more than RESTART_GAIN, a tenth of a millionth of the objective.
GRADIENT, GAIN, RESTARTS = 1e-7, 1e-14, 8
RESTART_GAIN = 1e-7
# What the logarithm is taken to be where the objective overflows: e^700 is close to the largest
# number of double precision.
TOO_LARGE = 700.0


def _target(workload: LinearWorkload) -> FloatArray:
    """The series that is divided by C, scaled so that the largest is 1: the minimiser stays."""
    largest = float(np.abs(workload.target).max())
    if not largest > 0:
        raise InvalidParameter("workload", "not zero everywhere", workload.target)
    return workload.target / largest


class Objective(NamedTuple):
    """What a strategy is optimised for.

    The `measure` of the series target / c, the `target` of the workload, the `pattern` of
    participations as a series, and as `parameters` everything that is not the default.
    """

    measure: Measure
    target: FloatArray
    pattern: FloatArray
    parameters: dict[str, object]


def objective_for(
    steps: int,
    *,
    error: Error,
    workload: Workload,
    separation: int | None = None,
    participations: int | None = None,
) -> Objective:
    """The objective for checked `steps`; all other parameters are checked here."""
    storable("steps", steps)
    pattern = participation_series(steps, separation=separation, participations=participations)
    given: dict[str, object] = {"separation": separation, "participations": participations}
    given |= {"error": error, "workload": None if workload is None else "given"}
    parameters = {name: value for name, value in given.items() if value not in (None, "mean")}
    asked = as_workload(workload, steps)
    return Objective(asked.measure(error), _target(asked), pattern, parameters)


def participation_series(
    steps: int, *, separation: int | None, participations: int | None
) -> FloatArray:
    """Ones at 0, s, 2s, ...: the steps of an example that takes part as early as it can.

    By default there is one participation; with a separation alone as many as fit.
    """
    if separation is None and participations is None:
        participations = 1
    gap = positive_integer("separation", 1 if separation is None else separation)
    fitting = -(-steps // gap)
    count = (
        fitting if participations is None else positive_integer("participations", participations)
    )
    result = np.zeros(steps)
    result[: gap * min(count, fitting) : gap] = 1.0
    return result


def minimised(objective: Function, start: FloatArray, *, bounds: tuple[float, float]) -> FloatArray:
    """A minimiser of a positive function, by L-BFGS-B on its logarithm."""
    from scipy.optimize import minimize

    if not start.size:
        return start

    def logarithm(x: FloatArray) -> tuple[float, FloatArray]:
        with np.errstate(over="ignore", invalid="ignore"):
            value, gradient = objective(x)
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            return TOO_LARGE, np.zeros_like(x)
        return float(np.log(value)), gradient / value

    x, best = start, np.inf
    for _ in range(RESTARTS):
        found = minimize(
            logarithm,
            x,
            jac=True,
            method="L-BFGS-B",
            bounds=[bounds] * start.size,
            options={"maxiter": 500, "maxcor": 30, "ftol": GAIN, "gtol": GRADIENT},
        )
        gain = best - found.fun
        if found.fun < best:
            x, best = np.asarray(found.x, dtype=np.float64), float(found.fun)
        step = np.clip(x - found.jac, *bounds) - x
        if np.abs(step).max() <= GRADIENT or not gain > RESTART_GAIN:
            break
    return x


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
