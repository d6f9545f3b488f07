"""Toeplitz strategies, with the same entries along each diagonal: C is a power series."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from hockeystick._numerics import series
from hockeystick._numerics.law import FloatArray
from hockeystick._validate import diagonal_entries, entries, positive_integer, storable, vector
from hockeystick.errors import InvalidParameter
from hockeystick.strategies.columns import (
    Sensitivity,
    certified_sensitivity,
    toeplitz_gram,
    toeplitz_summed_columns,
)
from hockeystick.strategies.noise import NoiseStream, movable, refuse_unbanded, rounded_entries
from hockeystick.strategies.recurrence import (
    AutoregressiveRecurrence,
    MovingAverageRecurrence,
    Recurrence,
)
from hockeystick.strategies.strategy import Strategy
from hockeystick.strategies.workloads import Workload, as_workload

__all__ = ["Toeplitz", "from_coefficients", "identity"]

# The most products that `sensitivity` takes for its tighter bound: about a second.
MOST_PRODUCTS = 10**9


class Toeplitz(Strategy):
    """C is the power series with the given coefficients, truncated after `steps` terms.

    Products with C, its inverse and the errors are operations on series: O(n * bands) if C or its
    inverse is banded, O(n log n) otherwise.
    """

    def __init__(
        self,
        name: str,
        *,
        steps: int,
        coefficients: FloatArray,
        inverse: FloatArray | None = None,
        recurrence: Recurrence | None = None,
        parameters: Mapping[str, object] | None = None,
    ) -> None:
        """`inverse` and `recurrence` are given where the factorization knows better ones."""
        entries("coefficients", coefficients)
        diagonal_entries("coefficients[0]", coefficients[:1])
        self.name = name
        self.steps = steps
        self.parameters = dict(parameters or {})
        self._coefficients = _frozen(series.trimmed(coefficients[:steps]))
        self._inverse = inverse
        self._recurrence = recurrence

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Toeplitz):
            return NotImplemented
        same = np.array_equal(self.coefficients, other.coefficients)
        return self.steps == other.steps and same

    def __hash__(self) -> int:
        return hash((self.steps, self.coefficients.tobytes()))

    @property
    def coefficients(self) -> FloatArray:
        """The entries of the first column up to the last that is not zero."""
        return self._coefficients

    @cached_property
    def inverse_coefficients(self) -> FloatArray:
        """The first column of C^-1 up to the last entry that is not zero."""
        inverse = self._inverse
        if inverse is None:
            inverse = series.reciprocal(self.coefficients, storable("steps", self.steps))
        return _frozen(series.trimmed(inverse))

    @property
    def is_identity(self) -> bool:
        """Whether C = I."""
        return self.bands == 1 and bool(self.coefficients[0] == 1)

    @property
    def bands(self) -> int:
        """The number of coefficients."""
        return self.coefficients.size

    @property
    def inverse_bands(self) -> int:
        """The number of coefficients of the inverse."""
        return self.inverse_coefficients.size

    @cached_property
    def column_norms(self) -> FloatArray:
        """The first column is the longest; later ones are cut off at the end of the run."""
        steps = storable("steps", self.steps)
        squares = np.cumsum(series.padded(self.coefficients**2, steps))
        return _frozen(np.sqrt(squares[::-1]))

    def squared_errors(self, workload: Workload = None) -> FloatArray:
        """From the series of the workload over that of C."""
        asked = as_workload(workload, storable("steps", self.steps))
        if self.bands <= self.inverse_bands and self.bands <= series.DIRECT:
            errors = series.divide(asked.target, self.coefficients)
        else:
            errors = series.multiply(self.inverse_coefficients, asked.target, self.steps)
        # An inverse that grows beyond floating point has an infinite error, also where differences
        # of infinite numbers come out as no number.
        errors[~np.isfinite(errors)] = np.inf
        return asked.squared_rows(errors)

    def to_matrix(self) -> FloatArray:
        """C in full."""
        return _dense(self.coefficients, self.steps)

    def inverse_matrix(self) -> FloatArray:
        """C^-1 in full."""
        return _dense(self.inverse_coefficients, self.steps)

    @property
    def recurrence(self) -> Recurrence:
        """The one with less memory: over past outputs if C is banded, over inputs if C^-1 is."""
        if self._recurrence is not None:
            return self._recurrence
        if self.bands <= self.inverse_bands:
            return AutoregressiveRecurrence(self.coefficients)
        return MovingAverageRecurrence(self.inverse_coefficients)

    def exact(self) -> Toeplitz:
        """The strategy with rounded coefficients; itself if its inverse has fewer of them."""
        rounded = self.coefficients if self._moves else rounded_entries(self._banded_rows()[0][0])
        if np.array_equal(rounded, self.coefficients):
            return self
        return from_coefficients(rounded, self.steps)

    @property
    def _moves(self) -> bool:
        """Whether exact noise is a moving sum: C was computed from an inverse with fewer bands."""
        given = self._inverse is not None and self._recurrence is None
        fewer = given and self.inverse_bands < self.bands
        return fewer and movable(self.inverse_coefficients, self.steps)

    def _exact_stream(self, **how: Any) -> NoiseStream:
        from hockeystick.strategies.exact_moving import ExactMovingStream
        from hockeystick.strategies.exact_noise import ExactNoiseStream

        if self._moves:
            return ExactMovingStream(self.inverse_coefficients, **how)
        return ExactNoiseStream(*self._banded_rows(), **how)

    def _banded_rows(self) -> tuple[FloatArray, float]:
        if self._recurrence is not None or self.bands > self.inverse_bands:
            refuse_unbanded(self)
        return self.coefficients[None], float(np.abs(self.inverse_coefficients).sum())

    def _sensitivity(self, separation: int, participations: int) -> Sensitivity:
        """The pattern 0, s, 2s, ... is the worst if c does not increase from c_s on.

        Columns i and i + d have the sum of c_j c_(j+d) over j < n - i - d as inner product. It
        decreases to the right, having fewer terms, and with the distance d >= s, having smaller
        ones; so moving all participations together and to the front only adds [KalininLampert24,
        Theorem 2, for c that never increases]. That includes disjoint columns, where c is zero from
        c_s on. There is no other pattern if every step takes part. Otherwise the smallest
        sequence above c that does not increase from c_s on gives a bound, and unless that is
        attained or the matrix is very large the one of `participation` is taken.
        """
        pattern = range(0, participations * separation, separation)
        if self.bands <= separation:
            squared = self._disjoint(separation, participations)
            return Sensitivity(squared**0.5, exact=True, pattern=pattern)
        storable("steps", self.steps)
        columns = np.arange(participations) * separation
        attained = self._attained(self.coefficients, columns)
        if participations == self.steps:
            return certified_sensitivity(attained, attained, columns)
        envelope = self.coefficients.copy()
        envelope[separation:] = np.maximum.accumulate(envelope[separation:][::-1])[::-1]
        simple = certified_sensitivity(self._attained(envelope, columns), attained, columns)
        if simple.exact or self.steps * self.bands > MOST_PRODUCTS:
            return simple
        from hockeystick.strategies.column_kernels import toeplitz_envelopes, worst_pattern

        envelopes = toeplitz_envelopes(self.coefficients, self.steps, separation)
        bound, worst = worst_pattern(envelopes, separation, participations)
        return certified_sensitivity(bound, self._attained(self.coefficients, worst), worst)

    def _summed_columns(self, spacing: int) -> FloatArray:
        storable("steps", self.steps, each=min(spacing, self.steps))
        return toeplitz_summed_columns(self.coefficients, self.steps, spacing)

    def _gram(self, spacing: int) -> FloatArray:
        """O(steps * min(bands, spacing) + spacing^2)."""
        storable("steps", self.steps)
        storable("spacing", min(spacing, self.steps), each=min(spacing, self.steps))
        return toeplitz_gram(self.coefficients, self.steps, spacing)

    def _disjoint(self, separation: int, participations: int) -> float:
        """Sum of the squared lengths of the columns 0, s, 2s, ..."""
        squares = np.cumsum(self.coefficients**2)
        # Columns from here on are cut off by the end of the run.
        whole = min(participations, max(0, (self.steps - self.bands) // separation + 1))
        cut = self.steps - 1 - np.arange(whole, participations) * separation
        return whole * float(squares[-1]) + float(squares[cut].sum())

    def _attained(self, coefficients: FloatArray, columns: NDArray[np.int64]) -> float:
        """Squared length of the sum of the columns of the matrix with these coefficients."""
        chosen = np.zeros(self.steps)
        chosen[columns] = 1.0
        total = series.multiply(coefficients, chosen, self.steps)
        return float(total @ total)


def identity(steps: int) -> Toeplitz:
    """C = I: the independent noise of DP-SGD.

    The mean squared error of prefix sums is (n + 1) / 2, the largest n.

    Parameters
    ----------
    steps
        The number of updates.

    Returns
    -------
    Toeplitz
        The identity matrix as a strategy.

    Examples
    --------
    >>> import hockeystick as hs
    >>> hs.strategies.identity(9).mean_squared_error()
    5.0
    """
    one = np.ones(1)
    return Toeplitz(
        "identity", steps=positive_integer("steps", steps), coefficients=one, inverse=one
    )


def from_coefficients(coefficients: npt.ArrayLike, steps: int | None = None) -> Toeplitz:
    """The strategy whose first column starts with the coefficients and is zero below.

    Parameters
    ----------
    coefficients
        Non-negative numbers of which the first is positive.
    steps
        The number of updates; by default the number of coefficients.

    Returns
    -------
    Toeplitz
        The strategy, not rescaled.

    Raises
    ------
    InvalidParameter
        For coefficients that are negative, infinite or NaN, a first one that is not positive, and
        more of them than steps.

    Examples
    --------
    >>> import hockeystick as hs
    >>> hs.strategies.from_coefficients([1.0, 0.5], steps=100).column_norms[:2]
    array([1.11803399, 1.11803399])
    """
    array = vector("coefficients", coefficients)
    if array.ndim != 1 or array.size < 1:
        raise InvalidParameter("coefficients", "a vector of at least one number", coefficients)
    number = array.size if steps is None else positive_integer("steps", steps)
    if not array.size <= number:
        raise InvalidParameter("coefficients", f"at most steps={number} numbers", array.size)
    strategy = Toeplitz("coefficients", steps=number, coefficients=array)
    strategy.parameters = {"bands": strategy.bands}
    return strategy


def _dense(coefficients: FloatArray, n: int) -> FloatArray:
    from scipy.linalg import toeplitz

    storable("steps", n, each=n)
    matrix: FloatArray = toeplitz(series.padded(coefficients, n), np.zeros(n))
    return matrix


def _frozen(array: FloatArray) -> FloatArray:
    copy = np.array(array, dtype=np.float64)
    copy.setflags(write=False)
    return copy
