"""The objective that optimised strategies minimise.

The error of a strategy is that of A C^-1 Z, A being the workload (workloads.py). The product of
squared error and squared sensitivity does not change when C is scaled, so it is minimised without a
constraint and C is scaled afterwards. Gradients come from the adjoint recursions, at the cost of
the value itself: O(n * bands) for a Toeplitz A.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick._validate import positive_integer, storable
from hockeystick.errors import InvalidParameter
from hockeystick.strategies.workloads import (
    Error,
    LinearWorkload,
    Measure,
    Workload,
    as_workload,
)

__all__ = ["minimised", "objective_for", "participation_series"]

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
