"""How C^-1 Z is computed row by row, with as little memory as the strategy allows.

A recurrence turns a row of independent noise into a row of correlated noise, in place; `rows` is
how many past rows it has to remember.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

import numpy as np

from hockeystick._numerics.law import FloatArray

__all__ = [
    "AutoregressiveRecurrence",
    "BufferedRecurrence",
    "MovingAverageRecurrence",
    "Recurrence",
    "RecurrenceStep",
    "RowByRowRecurrence",
    "fingerprint",
]


class RecurrenceStep(NamedTuple):
    """One step as a linear map, for whoever computes it elsewhere than the compiled kernels.

    With z the new row of Z and s the rows of memory, the output is y = fresh z + sum of
    factor s[row] over `past`; then s[row] <- decay s[row] + (y if outputs else z) over `kept`.
    """

    fresh: float
    past: tuple[tuple[int, float], ...]
    kept: tuple[tuple[int, float], ...]
    outputs: bool


class Recurrence(Protocol):
    """One step of C^-1 Z."""

    kind: ClassVar[str]
    """Its name in saved streams."""

    @property
    def rows(self) -> int:
        """Rows of memory."""

    @property
    def inverse_diagonal(self) -> FloatArray:
        """The entries on the diagonal of C^-1, one for each step, or one for all of them."""

    @property
    def replayed(self) -> FloatArray | None:
        """The coefficients of C^-1 if they are few, so that rows of Z can be drawn again instead.

        None where every row of Z, or a row of the output, has to be remembered in some way.
        """

    def solved(self, step: int, steps: int) -> FloatArray | None:
        """Where memory is a ring of past rows of output: rows of C that give the next rows of it.

        At most as many as the ring has, from `step` on, of `steps` in all. They can be computed
        together and wait in the ring. None where memory is something else, or too short for that
        to be worth it.
        """

    def advance(
        self, row: np.ndarray, memory: np.ndarray, *, scale: float, step: int, first: int = 0
    ) -> None:
        """Replace independent standard noise in `row` by row `step` of scale C^-1 Z.

        What is remembered of it is in the columns of `memory` from `first` on.
        """


def fingerprint(recurrence: Recurrence) -> str:
    """A text that two recurrences share exactly if they are the same.

    Saved streams carry it: `kind` and the fields of a recurrence, in order, are part of the format.
    """
    digest = hashlib.sha256(recurrence.kind.encode())
    for value in vars(recurrence).values():
        digest.update(np.ascontiguousarray(value, dtype=np.float64).tobytes())
    return digest.hexdigest()


@dataclass(frozen=True, eq=False)
class AutoregressiveRecurrence:
    """Banded Toeplitz C with coefficients c: each row is corrected by the rows before it."""

    kind: ClassVar[str] = "Autoregressive"

    coefficients: FloatArray

    @property
    def rows(self) -> int:
        """bands - 1."""
        return self.coefficients.size - 1

    @property
    def inverse_diagonal(self) -> FloatArray:
        """1 / c_0."""
        return 1 / self.coefficients[:1]

    @property
    def replayed(self) -> FloatArray | None:
        """Only if C is diagonal."""
        return self.inverse_diagonal if self.rows == 0 else None

    def solved(self, step: int, steps: int) -> FloatArray | None:
        """All of them are the coefficients."""
        count = _together(self.rows, step, steps)
        return np.tile(self.coefficients, (count, 1)) if count > 1 else None

    def advance(
        self, row: np.ndarray, memory: np.ndarray, *, scale: float, step: int, first: int = 0
    ) -> None:
        """Solve row `step` of C Y = Z for the newest row of Y."""
        from hockeystick.strategies.recurrence_kernels import autoregressive

        autoregressive(row, memory, first, self.coefficients.copy(), scale, step)

    def at(self, step: int, scale: float) -> RecurrenceStep:
        """What `advance` does, as coefficients."""
        return _solved(self.coefficients, self.rows, step, scale)


@dataclass(frozen=True, eq=False)
class MovingAverageRecurrence:
    """Banded Toeplitz C^-1 with the given coefficients: past independent noise is remembered."""

    kind: ClassVar[str] = "MovingAverage"

    inverse_coefficients: FloatArray

    @property
    def rows(self) -> int:
        """inverse bands - 1."""
        return self.inverse_coefficients.size - 1

    @property
    def inverse_diagonal(self) -> FloatArray:
        """The first coefficient."""
        return self.inverse_coefficients[:1]

    @property
    def replayed(self) -> FloatArray:
        """All coefficients."""
        return self.inverse_coefficients

    def solved(self, step: int, steps: int) -> None:
        """Rows of Z are remembered."""

    def advance(
        self, row: np.ndarray, memory: np.ndarray, *, scale: float, step: int, first: int = 0
    ) -> None:
        """Multiply by row `step` of C^-1."""
        from hockeystick.strategies.recurrence_kernels import moving_average

        moving_average(row, memory, first, self.inverse_coefficients.copy(), scale, step)

    def at(self, step: int, scale: float) -> RecurrenceStep:
        """What `advance` does, as coefficients."""
        d = self.inverse_coefficients * scale
        return RecurrenceStep(
            float(d[0]), _ring(d, self.rows, step), _newest(self.rows, step), outputs=False
        )


@dataclass(frozen=True, eq=False)
class BufferedRecurrence:
    """C = diagonal (1 + sum_i weight_i z / (1 - decay_i z)): one buffer for each decay."""

    kind: ClassVar[str] = "Buffered"

    decays: FloatArray
    weights: FloatArray
    diagonal: float

    @property
    def rows(self) -> int:
        """One for each buffer."""
        return self.decays.size

    @property
    def inverse_diagonal(self) -> FloatArray:
        """1 / diagonal."""
        return np.array([1 / self.diagonal])

    @property
    def replayed(self) -> None:
        """The inverse of C is not banded."""

    def solved(self, step: int, steps: int) -> None:
        """Sums are remembered."""

    def advance(
        self, row: np.ndarray, memory: np.ndarray, *, scale: float, step: int, first: int = 0
    ) -> None:
        """Subtract what the buffers hold, then feed them."""
        from hockeystick.strategies.recurrence_kernels import buffered

        buffered(row, memory, first, self.decays, self.weights, scale / self.diagonal)

    def at(self, step: int, scale: float) -> RecurrenceStep:
        """What `advance` does, as coefficients."""
        past = tuple((i, -float(w)) for i, w in enumerate(self.weights))
        kept = tuple((i, float(decay)) for i, decay in enumerate(self.decays))
        return RecurrenceStep(scale / self.diagonal, past, kept, outputs=True)


@dataclass(frozen=True, eq=False)
class RowByRowRecurrence:
    """Any lower-triangular C: `entries[t, j]` is C[t, t - j]."""

    kind: ClassVar[str] = "RowByRow"

    entries: FloatArray

    @property
    def rows(self) -> int:
        """bands - 1."""
        return int(self.entries.shape[1]) - 1

    @property
    def inverse_diagonal(self) -> FloatArray:
        """1 / C[t, t]."""
        inverse: FloatArray = 1 / self.entries[:, 0]
        return inverse

    @property
    def replayed(self) -> None:
        """The inverse of C is not banded."""

    def solved(self, step: int, steps: int) -> FloatArray | None:
        """Those of the steps."""
        count = _together(self.rows, step, steps)
        return self.entries[step : step + count].copy() if count > 1 else None

    def advance(
        self, row: np.ndarray, memory: np.ndarray, *, scale: float, step: int, first: int = 0
    ) -> None:
        """Solve row `step` of C Y = Z for the newest row of Y."""
        from hockeystick.strategies.recurrence_kernels import autoregressive

        autoregressive(row, memory, first, self.entries[step].copy(), scale, step)

    def at(self, step: int, scale: float) -> RecurrenceStep:
        """What `advance` does, as coefficients."""
        return _solved(self.entries[step], self.rows, step, scale)


# Rows of output that are computed together: memory, which is larger than a cache, is then read once
# for all of them, and every row is copied once. With 15 remembered rows a row takes six tenths of
# the time; more rows at a time, or a ring of fewer than three, gain little.
TOGETHER, WORTHWHILE = 8, 3


def _together(rows: int, step: int, steps: int) -> int:
    """How many rows from `step` on."""
    return min(TOGETHER, rows, steps - step) if rows >= WORTHWHILE else 1


def _solved(c: FloatArray, rows: int, step: int, scale: float) -> RecurrenceStep:
    """y_t = (scale z_t - c_1 y_(t-1) - ...) / c_0."""
    past = _ring(-c / c[0], rows, step)
    return RecurrenceStep(scale / float(c[0]), past, _newest(rows, step), outputs=True)


def _ring(factors: FloatArray, rows: int, step: int) -> tuple[tuple[int, float], ...]:
    """Factors of the rows of 1, 2, ... steps ago; row t is in the memory at t modulo rows."""
    lags = min(rows, step, factors.size - 1)
    return tuple(((step - j) % rows, float(factors[j])) for j in range(1, lags + 1))


def _newest(rows: int, step: int) -> tuple[tuple[int, float], ...]:
    """The new row takes the place of the oldest."""
    return ((step % rows, 0.0),) if rows else ()
