"""Workloads: what is computed from the noisy gradients, as a matrix A.

The error of a strategy is that of A C^-1 Z. Prefix sums are the iterates of gradient descent with a
constant learning rate; with momentum step t is a weighted sum of the gradients up to t. Both are
Toeplitz matrices and are given by their coefficients. With learning rates that change A is not one:
see `iterates`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from hockeystick._numerics.law import FloatArray
from hockeystick._validate import choice, positive_integer, real, storable, vector
from hockeystick.errors import InvalidParameter

__all__ = [
    "Error",
    "LinearWorkload",
    "Measure",
    "ToeplitzWorkload",
    "Workload",
    "as_workload",
    "decay_parameter",
    "error_weights",
    "momentum",
    "prefix_sums",
    "weighted_squares",
]

Error = Literal["mean", "max"]
Measure = Callable[[FloatArray], tuple[float, FloatArray]]
"""The squared error as a function of the series A' / C, with its gradient."""


@runtime_checkable
class LinearWorkload(Protocol):
    """A matrix A whose product with a Toeplitz C^-1 is determined by one series.

    That is the series g = `target` / C. For a Toeplitz A the target is A itself.
    """

    @property
    def target(self) -> FloatArray:
        """The series that is divided by C."""

    def squared_rows(self, g: FloatArray) -> FloatArray:
        """Squared length of each row of A C^-1."""

    def measure(self, error: Error) -> Measure:
        """The squared error of A, scaled by any constant, with its gradient in g."""

    def row_blocks(self, size: int) -> Iterator[FloatArray]:
        """The rows of A, `size` at a time."""


Workload: TypeAlias = npt.ArrayLike | LinearWorkload | None


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
    number = decay_parameter("decay", decay)
    count = storable("steps", positive_integer("steps", steps))
    result: FloatArray = np.cumsum(number ** np.arange(count))
    return result


def decay_parameter(name: str, value: float) -> float:
    """A momentum parameter, in [0, 1)."""
    allowed = "in [0, 1)"
    number = real(name, value, allowed)
    if not 0 <= number < 1:
        raise InvalidParameter(name, allowed, value)
    return number


def as_workload(workload: Workload, steps: int) -> LinearWorkload:
    """The workload as an object; coefficients are checked, and prefix sums are the default."""
    if workload is None:
        return ToeplitzWorkload(np.ones(steps))
    if isinstance(workload, LinearWorkload):
        if workload.target.size != steps:
            raise InvalidParameter("workload", f"one for {steps} steps", workload.target.size)
        return workload
    coefficients = vector("workload", workload)
    if coefficients.ndim != 1 or not 1 <= coefficients.size <= steps:
        allowed = f"a vector of 1 to {steps} coefficients"
        raise InvalidParameter("workload", allowed, np.shape(workload))
    if not np.isfinite(coefficients).all():
        raise InvalidParameter("workload", "finite", workload)
    result = np.zeros(steps)
    result[: coefficients.size] = coefficients
    return ToeplitzWorkload(result)


class ToeplitzWorkload:
    """A is the power series with these coefficients, one for each step."""

    def __init__(self, coefficients: FloatArray) -> None:
        self.target = coefficients

    def squared_rows(self, g: FloatArray) -> FloatArray:
        """Row t of A C^-1 holds the first t + 1 coefficients of g."""
        with np.errstate(over="ignore"):
            result: FloatArray = np.cumsum(g**2)
        return result

    def measure(self, error: Error) -> Measure:
        """A weighted sum of the squares of g."""
        return weighted_squares(error_weights(error, self.target.size))

    def row_blocks(self, size: int) -> Iterator[FloatArray]:
        """Entry [t, k] is coefficient t - k."""
        steps = self.target.size
        position = np.arange(steps)
        for start in range(0, steps, size):
            lag = np.arange(start, min(start + size, steps))[:, None] - position
            yield np.where(lag >= 0, self.target[np.maximum(lag, 0)], 0.0)


def error_weights(error: Error, steps: int) -> FloatArray:
    """Weights of the squared coefficients of A C^-1: how many rows hold each, over n; or one."""
    weights: dict[str, FloatArray] = {
        "mean": (steps - np.arange(steps)) / steps,
        "max": np.ones(steps),
    }
    return weights[choice("error", error, weights, "'mean' or 'max'")]


def weighted_squares(weights: FloatArray) -> Measure:
    """sum_k w_k g_k^2 and its gradient."""

    def measure(g: FloatArray) -> tuple[float, FloatArray]:
        weighted = weights * g
        return float(weighted @ g), 2.0 * weighted

    return measure
