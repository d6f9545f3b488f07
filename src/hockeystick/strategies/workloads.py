"""Workloads: what is computed from the noisy gradients, as a lower-triangular Toeplitz matrix.

The error of a strategy is that of A C^-1 Z, where A is the workload. Plain gradient descent applies
prefix sums; with momentum the step t is a weighted sum of the gradients up to t.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from hockeystick._numerics.law import FloatArray
from hockeystick._validate import positive_integer, real, storable, vector
from hockeystick.errors import InvalidParameter

__all__ = ["Workload", "momentum", "prefix_sums", "workload_coefficients"]

Workload: TypeAlias = npt.ArrayLike | None


def prefix_sums(steps: int) -> FloatArray:
    """All ones: the iterates of gradient descent with a constant learning rate."""
    return np.ones(storable("steps", positive_integer("steps", steps)))


def momentum(steps: int, *, decay: float) -> FloatArray:
    """1 + decay + ... + decay^t: the iterates of gradient descent with heavy-ball momentum."""
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
