"""Any lower-triangular matrix as a strategy, and the leading block of a strategy.

The leading block correlates the noise of the first steps of a run.
"""

from __future__ import annotations

from functools import cached_property, singledispatch
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from hockeystick._numerics.law import FloatArray
from hockeystick._validate import diagonal_entries, entries, positive_integer, vector
from hockeystick.errors import InvalidParameter
from hockeystick.strategies.columns import Sensitivity, certified_sensitivity
from hockeystick.strategies.noise import NoiseStream, rounded_entries
from hockeystick.strategies.recurrence import Recurrence, RowByRowRecurrence
from hockeystick.strategies.strategy import Strategy
from hockeystick.strategies.toeplitz import Toeplitz
from hockeystick.strategies.workloads import Workload, as_workload

__all__ = [
    "CLOSED_FORM",
    "Matrix",
    "from_matrix",
    "leading_block",
]

# Columns that are solved for at a time: the work arrays take 256 / steps of the matrix.
COLUMNS = 256


def from_matrix(matrix: npt.ArrayLike) -> Matrix:
    """The strategy with exactly this matrix: square, lower triangular, non-negative.

    Takes O(n^2) memory; errors cost O(n^2 * bands), sensitivities O(n^3).

    Parameters
    ----------
    matrix
        C, with a positive diagonal.

    Returns
    -------
    Matrix
        The strategy, with a copy of the matrix.

    Raises
    ------
    InvalidParameter
        For entries that are negative, infinite or NaN, entries above the diagonal, and zeros on the
        diagonal.

    Examples
    --------
    >>> import hockeystick as hs
    >>> strategy = hs.strategies.from_matrix([[1.0, 0.0], [0.5, 2.0]])
    >>> print(strategy.bands, strategy.coefficients)
    2 None
    """
    array = vector("matrix", matrix, "a square matrix of numbers")
    if array.ndim != 2 or array.shape[0] != array.shape[1] or array.shape[0] < 1:
        raise InvalidParameter("matrix", "square", array.shape)
    entries("matrix", array)
    if np.triu(array, 1).any():
        row, column = np.argwhere(np.triu(array, 1))[0]
        raise InvalidParameter(
            "matrix", f"lower triangular (entry [{row}, {column}] zero)", float(array[row, column])
        )
    diagonal_entries("matrix", np.diagonal(array), place=" on its diagonal")
    return Matrix(array)


class Matrix(Strategy):
    """A strategy that is kept in full; made by `from_matrix`."""

    name = "matrix"

    def __init__(self, matrix: FloatArray) -> None:
        self._matrix = np.array(matrix, dtype=np.float64)
        self._matrix.setflags(write=False)
        self.steps = self._matrix.shape[0]
        self.parameters = {"bands": self.bands}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Matrix):
            return NotImplemented
        return np.array_equal(self._matrix, other._matrix)

    def __hash__(self) -> int:
        return hash(self._matrix.tobytes())

    @property
    def coefficients(self) -> None:
        """None: diagonals may vary."""

    @property
    def inverse_coefficients(self) -> None:
        """None: diagonals may vary."""

    @cached_property
    def is_identity(self) -> bool:
        """Whether C = I."""
        return self.bands == 1 and bool((np.diagonal(self._matrix) == 1).all())

    @cached_property
    def bands(self) -> int:
        """One more than the distance of the furthest entry from the diagonal."""
        return _bandwidth(self._matrix)

    @cached_property
    def inverse_bands(self) -> int:
        """The same of the inverse, as it comes out in floating point."""
        return _bandwidth(self.inverse_matrix())

    @cached_property
    def column_norms(self) -> FloatArray:
        """Euclidean length of each column."""
        norms: FloatArray = np.sqrt(np.einsum("ij,ij->j", self._matrix, self._matrix))
        norms.setflags(write=False)
        return norms

    def squared_errors(self, workload: Workload = None) -> FloatArray:
        """Rows x of A C^-1 solve C^T x = a for the rows a of A."""
        from scipy.linalg import solve_banded

        transposed = self._transposed_bands()
        errors = []
        for rows in as_workload(workload, self.steps).row_blocks(COLUMNS):
            solved = solve_banded((0, self.bands - 1), transposed, rows.T)
            errors.append(np.einsum("ij,ij->j", solved, solved))
        return np.concatenate(errors)

    def to_matrix(self) -> FloatArray:
        """C in full."""
        return self._matrix.copy()

    def inverse_matrix(self) -> FloatArray:
        """C^-1 in full."""
        from scipy.linalg import solve_triangular

        inverse: FloatArray = solve_triangular(self._matrix, np.eye(self.steps), lower=True)
        return inverse

    @property
    def recurrence(self) -> Recurrence:
        """Row by row, with bands - 1 rows of memory."""
        return RowByRowRecurrence(self._entries)

    @cached_property
    def _entries(self) -> FloatArray:
        entries = np.zeros((self.steps, self.bands))
        for lag in range(self.bands):
            entries[lag:, lag] = np.diagonal(self._matrix, -lag)
        return entries

    def exact(self) -> Matrix:
        """The matrix with rounded entries."""
        rounded = rounded_entries(self._matrix)
        return self if np.array_equal(rounded, self._matrix) else from_matrix(rounded)

    def _exact_stream(self, **how: Any) -> NoiseStream:
        from hockeystick.strategies.exact_noise import ExactNoiseStream

        return ExactNoiseStream(*self._banded_rows(), **how)

    def _banded_rows(self) -> tuple[FloatArray, float]:
        return self._entries, float(np.abs(self.inverse_matrix()).sum(axis=1).max())

    def _sensitivity(self, separation: int, participations: int) -> Sensitivity:
        """The bound of `participation`; O(n^3) for the Gram matrix, as a matrix product.

        A single participation, and one in every step, are evaluated exactly.
        """
        if participations == 1:
            column = np.array([np.argmax(self.column_norms)])
            length = self._attained(column)
            return certified_sensitivity(length, length, column)
        if participations == self.steps:
            everything = np.arange(self.steps)
            length = self._attained(everything)
            return certified_sensitivity(length, length, everything)
        from hockeystick.strategies.column_kernels import row_envelopes, worst_pattern

        envelopes = row_envelopes(self._matrix.T @ self._matrix, separation)
        bound, pattern = worst_pattern(envelopes, separation, participations)
        return certified_sensitivity(bound, self._attained(pattern), pattern)

    def _attained(self, columns: NDArray[np.int64]) -> float:
        """Squared length of the sum of the columns."""
        total = self._matrix[:, columns].sum(axis=1)
        return float(total @ total)

    def _transposed_bands(self) -> FloatArray:
        """C^T in the layout of `scipy.linalg.solve_banded`."""
        result = np.zeros((self.bands, self.steps))
        for lag in range(self.bands):
            result[self.bands - 1 - lag, lag:] = np.diagonal(self._matrix, -lag)
        return result


def _bandwidth(matrix: FloatArray) -> int:
    rows, columns = np.nonzero(matrix)
    return int((rows - columns).max()) + 1


# Factorizations whose coefficients do not depend on the number of steps.
CLOSED_FORM = ("identity", "bsr", "bisr", "lambda-cgd")


def leading_block(strategy: Strategy, steps: int) -> Strategy:
    """The first `steps` rows and columns of C, which is not optimised again.

    C is lower triangular. So the first rows of C G + Z depend on the first rows of G and Z alone,
    through the leading block, and the leading block of C^-1 is the inverse of that of C: the noise
    of the first steps is what the block gives.

    Parameters
    ----------
    strategy
        That of the whole run.
    steps
        At most those of the strategy.

    Returns
    -------
    Strategy
        The strategy itself if it has no more steps.
    """
    number = positive_integer("steps", steps)
    if not number <= strategy.steps:
        raise InvalidParameter("steps", f"an integer in [1, {strategy.steps}]", steps)
    return strategy if number == strategy.steps else _block(strategy, number)


@singledispatch
def _block(strategy: Strategy, steps: int) -> Strategy:
    return from_matrix(strategy.to_matrix()[:steps, :steps])


@_block.register
def _(strategy: Toeplitz, steps: int) -> Strategy:
    """The first coefficients; factorizations in closed form keep their name."""
    closed = strategy.name in CLOSED_FORM
    found = Toeplitz(
        strategy.name if closed else "coefficients",
        steps=steps,
        coefficients=strategy.coefficients[:steps],
        inverse=None if strategy._inverse is None else strategy._inverse[:steps],
        recurrence=strategy._recurrence,
        parameters=strategy.parameters if closed else {},
    )
    if not closed:
        found.parameters = {"bands": found.bands}
    elif "bands" in strategy.parameters:
        bands: Any = strategy.parameters["bands"]
        found.parameters = {**strategy.parameters, "bands": min(bands, steps)}
    return found
