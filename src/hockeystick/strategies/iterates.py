"""The iterates of gradient descent with momentum and with learning rates that change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from hockeystick._numerics.law import FloatArray
from hockeystick._validate import positive_integer, storable, vector
from hockeystick.errors import InvalidParameter
from hockeystick.strategies.workloads import Error, Measure, decay_parameter
from hockeystick.strategies.workloads import momentum as of_momentum

__all__ = ["SCHEDULES", "Iterates", "iterates", "learning_rates"]

# Errors cost O(n^2): ten seconds for so many steps.
MOST_STEPS = 100_000
# An optimisation sums over so many columns at most, evenly spread, each in place of its neighbours:
# a thousandth of the error or less for smooth schedules. The error of the result is in full.
OPTIMISED_COLUMNS = 256

SCHEDULES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "constant": np.ones_like,
    "cosine": lambda done: (1 + np.cos(np.pi * done)) / 2,
    "linear": lambda done: 1 - done,
}
"""Learning rates as functions of the part of the run that is done, from 1 down to 0."""


def learning_rates(schedule: str | npt.ArrayLike, *, steps: int) -> FloatArray:
    """The learning rate of every step.

    Parameters
    ----------
    schedule
        "constant"; "cosine", (1 + cos(pi t / steps)) / 2 in step t; "linear", 1 - t / steps; or the
        rates themselves, one for each step.
    steps
        The number of updates.

    Returns
    -------
    numpy.ndarray
        One number for each step.

    Examples
    --------
    >>> import hockeystick as hs
    >>> hs.strategies.learning_rates("linear", steps=4)
    array([1.  , 0.75, 0.5 , 0.25])
    """
    return _rates(schedule, steps)


def iterates(
    steps: int, *, momentum: float = 0.0, learning_rates: str | npt.ArrayLike | None = None
) -> FloatArray | Iterates:
    """The workload of gradient descent: what the iterates are made of.

    x_t = x_0 - sum over s <= t of eta_s m_s, where m_s = momentum m_(s-1) + g_s are the noisy
    gradients after heavy-ball momentum, as `torch.optim.SGD` computes them. So A is L diag(eta) M:
    prefix sums, learning rates, momentum.

    Parameters
    ----------
    steps
        The number of updates.
    momentum
        In [0, 1).
    learning_rates
        A schedule by name or one rate for each step, as for `learning_rates`; constant by default.

    Returns
    -------
    numpy.ndarray or Iterates
        A workload for `mean_squared_error`, `band_mf`, `band_inv_mf` and `blt`. Constant rates
        give a Toeplitz matrix, the coefficients of `momentum`. Otherwise an error costs O(steps^2),
        and an optimisation approximates it by 256 columns of A C^-1.

    Examples
    --------
    >>> import hockeystick as hs
    >>> decaying = hs.strategies.iterates(100, momentum=0.9, learning_rates="cosine")
    >>> tuned = hs.strategies.band_mf(100, bands=4, workload=decaying)
    >>> plain = hs.strategies.band_mf(100, bands=4)
    >>> tuned.mean_squared_error(decaying) < plain.mean_squared_error(decaying)
    True
    """
    decay = decay_parameter("momentum", momentum)
    rates = _rates("constant" if learning_rates is None else learning_rates, steps)
    return of_momentum(steps, decay=decay) if (rates == 1).all() else Iterates(rates, decay)


def _rates(schedule: str | npt.ArrayLike, steps: int) -> FloatArray:
    count = storable("steps", positive_integer("steps", steps))
    names = ", ".join(SCHEDULES)
    allowed = f"{names} or a vector of {count} numbers >= 0 that are not all 0"
    if isinstance(schedule, str):
        if schedule not in SCHEDULES:
            raise InvalidParameter("learning_rates", allowed, schedule)
        return SCHEDULES[schedule](np.arange(count) / count)
    rates = vector("learning_rates", schedule, allowed)
    if rates.shape != (count,):
        raise InvalidParameter("learning_rates", allowed, f"an array of shape {rates.shape}")
    if not (np.isfinite(rates).all() and (rates >= 0).all() and rates.any()):
        raise InvalidParameter("learning_rates", allowed, schedule)
    return rates


class Iterates:
    """A = L diag(rates) M for learning rates that change; made by `iterates`."""

    def __init__(self, rates: FloatArray, decay: float) -> None:
        if rates.size > MOST_STEPS:
            allowed = f"at most {MOST_STEPS} for learning rates that change"
            raise InvalidParameter("steps", allowed, rates.size)
        self.rates = rates
        self.target: FloatArray = decay ** np.arange(float(rates.size))

    def squared_rows(self, g: FloatArray) -> FloatArray:
        """Squared length of each row of A C^-1, for g the series M / C."""
        from hockeystick.strategies.column_kernels import squared_rows

        infinite = np.flatnonzero(~np.isfinite(g))
        result = squared_rows(self.rates, np.where(np.isfinite(g), g, 0.0))
        result[infinite[0] if infinite.size else result.size :] = np.inf
        return result

    def measure(self, error: Error) -> Measure:
        """The mean over the rows, for rates scaled so that the largest is 1."""
        from hockeystick.strategies.column_kernels import mean_with_gradient

        if error != "mean":
            raise InvalidParameter("error", "'mean' for learning rates that change", error)
        rates = self.rates / self.rates.max()
        edges = np.linspace(0, rates.size, min(rates.size, OPTIMISED_COLUMNS) + 1).round()
        columns = ((edges[:-1] + edges[1:] - 1) / 2).astype(np.int64)
        weights = np.diff(edges)

        def measure(g: FloatArray) -> tuple[float, FloatArray]:
            found: tuple[float, FloatArray] = mean_with_gradient(rates, g, columns, weights)
            return found

        return measure

    def row_blocks(self, size: int) -> Iterator[FloatArray]:
        """Row i is row i - 1 plus eta_i times the coefficients of M, read backwards."""
        steps = self.rates.size
        last: Any = np.zeros(steps)
        position = np.arange(steps)
        for start in range(0, steps, size):
            rows = np.arange(start, min(start + size, steps))
            lag = rows[:, None] - position
            filtered = np.where(lag >= 0, self.target[np.maximum(lag, 0)], 0.0)
            block = last + np.cumsum(self.rates[rows, None] * filtered, axis=0)
            last = block[-1]
            yield block
