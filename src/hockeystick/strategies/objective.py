"""What the optimised strategies minimise, with gradients.

The product of squared error and squared sensitivity does not change when C is scaled, so it is
minimised without a constraint and C is scaled afterwards. Gradients come from the adjoint
recursions: O(n * bands) like the value itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick._validate import choice, positive_integer, storable
from hockeystick.errors import InvalidParameter
from hockeystick.strategies.workloads import Workload, workload_coefficients

__all__ = [
    "Error",
    "Goal",
    "error_weights",
    "goal",
    "minimised",
    "participation_series",
    "target_of",
]

Error = Literal["mean", "max"]
Objective = Callable[[FloatArray], tuple[float, FloatArray]]

# The search ends at this projected gradient of the objective's logarithm, or where an iteration
# gains less than GAIN; from there it starts again, with its memory cleared, while that helps.
GRADIENT, GAIN, RESTARTS = 1e-7, 1e-14, 8
RESTART_GAIN = 1e-7
# What the logarithm is taken to be where the objective overflows.
TOO_LARGE = 700.0


def error_weights(error: Error, steps: int) -> FloatArray:
    """Weights of the squared coefficients of A C^-1: how many rows hold each, over n; or one."""
    weights: dict[str, FloatArray] = {
        "mean": (steps - np.arange(steps)) / steps,
        "max": np.ones(steps),
    }
    return weights[choice("error", error, weights, "'mean' or 'max'")]


def target_of(workload: Workload, steps: int) -> FloatArray:
    """The coefficients of the workload, scaled so that the largest is 1: the minimiser stays."""
    coefficients = workload_coefficients(workload, steps)
    largest = float(np.abs(coefficients).max())
    if not largest > 0:
        raise InvalidParameter("workload", "not zero everywhere", workload)
    return coefficients / largest


class Goal(NamedTuple):
    """What a strategy is optimised for.

    `weights` of the squared coefficients of target / c, the `target` workload, the `pattern` of
    participations as a series, and in `described` everything that is not the default.
    """

    weights: FloatArray
    target: FloatArray
    pattern: FloatArray
    described: dict[str, object]


def goal(
    steps: int,
    *,
    error: Error,
    workload: Workload,
    separation: int | None = None,
    participations: int | None = None,
) -> Goal:
    """The goal for checked `steps`; all other parameters are checked here."""
    storable("steps", steps)
    pattern = participation_series(steps, separation=separation, participations=participations)
    given: dict[str, object] = {"separation": separation, "participations": participations}
    given |= {"error": error, "workload": None if workload is None else "given"}
    described = {name: value for name, value in given.items() if value not in (None, "mean")}
    return Goal(error_weights(error, steps), target_of(workload, steps), pattern, described)


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


def minimised(
    objective: Objective, start: FloatArray, *, bounds: tuple[float, float]
) -> FloatArray:
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
