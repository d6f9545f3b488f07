"""What a strategy is good for: workloads, and the objective that optimised strategies minimise.

The error of a strategy is that of A C^-1 Z. A is the workload: what is computed from the noisy
gradients, as a lower-triangular Toeplitz matrix. Gradient descent applies prefix sums; with
momentum step t is a weighted sum of the gradients up to t.

The product of squared error and squared sensitivity does not change when C is scaled, so it is
minimised without a constraint and C is scaled afterwards. Gradients come from the adjoint
recursions: O(n * bands) like the value itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from hockeystick._numerics.law import FloatArray
from hockeystick._validate import choice, positive_integer, real, storable, vector
from hockeystick.errors import InvalidParameter

__all__ = [
    "Error",
    "Workload",
    "error_weights",
    "minimised",
    "momentum",
    "objective_for",
    "participation_series",
    "prefix_sums",
    "workload_coefficients",
]

Workload: TypeAlias = npt.ArrayLike | None
Error = Literal["mean", "max"]
Function = Callable[[FloatArray], tuple[float, FloatArray]]

# L-BFGS-B ends at this projected gradient of the objective's logarithm, or where an iteration gains
# less than GAIN, about the rounding of the logarithm. It is restarted with its curvature memory
# cleared while a restart gains more than RESTART_GAIN, a tenth of a millionth of the objective.
GRADIENT, GAIN, RESTARTS = 1e-7, 1e-14, 8
RESTART_GAIN = 1e-7
# What the logarithm is taken to be where the objective overflows: e^700 is close to the largest
# number of double precision.
TOO_LARGE = 700.0


def prefix_sums(steps: int) -> FloatArray:
    """The workload of ones: the iterates of gradient descent with a constant learning rate.

    Parameters
    ----------
    steps
        The number of updates.

    Returns
    -------
    numpy.ndarray
        The coefficients of the workload.

    Examples
    --------
    >>> import hockeystick as hs
    >>> hs.strategies.prefix_sums(3)
    array([1., 1., 1.])
    """
    return np.ones(storable("steps", positive_integer("steps", steps)))


def momentum(steps: int, *, decay: float) -> FloatArray:
    """The workload 1 + decay + ... + decay^t: the iterates of heavy-ball momentum.

    Parameters
    ----------
    steps
        The number of updates.
    decay
        The momentum parameter, in [0, 1); 0 gives prefix sums.

    Returns
    -------
    numpy.ndarray
        The coefficients of the workload.

    Examples
    --------
    >>> import hockeystick as hs
    >>> hs.strategies.momentum(3, decay=0.5)
    array([1.  , 1.5 , 1.75])
    """
    allowed = "in [0, 1)"
    number = real("decay", decay, allowed)
    if not 0 <= number < 1:
        raise InvalidParameter("decay", allowed, decay)
    count = storable("steps", positive_integer("steps", steps))
    result: FloatArray = np.cumsum(number ** np.arange(count))
    return result


def workload_coefficients(workload: Workload, steps: int) -> FloatArray:
    """The first column of the workload, prefix sums by default."""
    if workload is None:
        return np.ones(steps)
    coefficients = vector("workload", workload)
    if coefficients.ndim != 1 or not 1 <= coefficients.size <= steps:
        allowed = f"a vector of 1 to {steps} coefficients"
        raise InvalidParameter("workload", allowed, np.shape(workload))
    if not np.isfinite(coefficients).all():
        raise InvalidParameter("workload", "finite", workload)
    result = np.zeros(steps)
    result[: coefficients.size] = coefficients
    return result


def error_weights(error: Error, steps: int) -> FloatArray:
    """Weights of the squared coefficients of A C^-1: how many rows hold each, over n; or one."""
    weights: dict[str, FloatArray] = {
        "mean": (steps - np.arange(steps)) / steps,
        "max": np.ones(steps),
    }
    return weights[choice("error", error, weights, "'mean' or 'max'")]


def _target(workload: Workload, steps: int) -> FloatArray:
    """The coefficients of the workload, scaled so that the largest is 1: the minimiser stays."""
    coefficients = workload_coefficients(workload, steps)
    largest = float(np.abs(coefficients).max())
    if not largest > 0:
        raise InvalidParameter("workload", "not zero everywhere", workload)
    return coefficients / largest


class Objective(NamedTuple):
    """What a strategy is optimised for.

    `weights` of the squared coefficients of target / c, the `target` workload, the `pattern` of
    participations as a series, and as `parameters` everything that is not the default.
    """

    weights: FloatArray
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
    return Objective(error_weights(error, steps), _target(workload, steps), pattern, parameters)


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
