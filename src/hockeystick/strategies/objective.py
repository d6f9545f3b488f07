"""What the optimised strategies minimise, with gradients.

The product of squared error and squared sensitivity does not change when C is scaled, so it is
minimised without a constraint and C is scaled afterwards. Gradients come from the adjoint
recursions: O(n * bands) like the value itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick._validate import positive_integer
from hockeystick.errors import InvalidParameter, PrecisionError

__all__ = ["Error", "error_weights", "minimised", "optimised_for", "participation_series"]

Error = Literal["mean", "max"]
Objective = Callable[[FloatArray], tuple[float, FloatArray]]

# The projected gradient of the logarithm of the objective at which the search ends.
GRADIENT = 1e-9
# One that is accepted all the same, where floating point allows no more.
ACCEPTED_GRADIENT = 1e-4


def error_weights(error: Error, steps: int) -> FloatArray:
    """Weights of the squared coefficients of A C^-1: how many rows hold each, over n; or one."""
    weights: dict[str, FloatArray] = {
        "mean": (steps - np.arange(steps)) / steps,
        "max": np.ones(steps),
    }
    if error not in weights:
        raise InvalidParameter("error", "'mean' or 'max'", error)
    return weights[error]


def optimised_for(**given: object) -> dict[str, object]:
    """What describes an optimised strategy: everything that is not the default."""
    return {name: value for name, value in given.items() if value not in (None, "mean")}


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
    objective: Objective, start: FloatArray, *, bounds: tuple[float | None, float | None]
) -> FloatArray:
    """The minimiser of the logarithm of a positive function, by L-BFGS-B.

    `PrecisionError` if the search ends somewhere that is not a minimum.
    """
    from scipy.optimize import minimize

    if not start.size:
        return start

    def logarithm(x: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = objective(x)
        return float(np.log(value)), gradient / value

    found = minimize(
        logarithm,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[bounds] * start.size,
        options={"maxiter": 2000, "maxfun": 4000, "maxcor": 30, "ftol": 1e-15, "gtol": GRADIENT},
    )
    x: FloatArray = np.asarray(found.x)
    low, high = (-np.inf if bounds[0] is None else bounds[0], bounds[1] or np.inf)
    step = np.clip(x - found.jac, low, high) - x
    if not np.abs(step).max() <= ACCEPTED_GRADIENT:
        raise PrecisionError(
            f"The optimisation of the strategy did not settle: {found.message}.",
            lower=0.0,
            upper=float(np.exp(found.fun)),
        )
    return x
