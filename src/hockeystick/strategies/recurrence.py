"""How C^-1 Z is computed row by row, with as little memory as the strategy allows.

A recurrence turns rows of independent noise into rows of correlated noise, in place and
`together` at a time: what it remembers is as large as the model times the bands, and reading that
once for two rows takes half as long as reading it for each.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from hockeystick._numerics.law import FloatArray

__all__ = ["Autoregressive", "Buffered", "MovingAverage", "Recurrence", "RowByRow", "fingerprint"]

TOGETHER = 2


class Recurrence(Protocol):
    """A few steps of C^-1 Z in a memory of `rows` + `together` rows."""

    @property
    def rows(self) -> int:
        """Rows that are remembered."""

    @property
    def together(self) -> int:
        """Rows that are computed at a time."""

    def fresh(self, step: int) -> int:
        """Which row of the memory takes the independent standard noise of a step."""

    def done(self, step: int) -> int:
        """Which row of the memory then holds that step's row of scale C^-1 Z."""

    def advance(self, memory: np.ndarray, *, count: int, scale: float, step: int) -> None:
        """Compute the rows of `count` steps, beginning with `step`."""


def fingerprint(recurrence: Recurrence) -> str:
    """A text that two recurrences share exactly if they are the same."""
    digest = hashlib.sha256(type(recurrence).__name__.encode())
    for value in vars(recurrence).values():
        digest.update(np.ascontiguousarray(value, dtype=np.float64).tobytes())
    return digest.hexdigest()


class _Ring(ABC):
    """Rows in turn; a strategy without memory needs no second row."""

    @property
    @abstractmethod
    def rows(self) -> int:
        """Rows that are remembered."""

    @property
    def together(self) -> int:
        """Two, if anything is remembered."""
        return TOGETHER if self.rows > 0 else 1

    def fresh(self, step: int) -> int:
        """The place of the oldest row, which is not needed any more."""
        return step % (self.rows + self.together)

    def done(self, step: int) -> int:
        """The same place."""
        return self.fresh(step)


@dataclass(frozen=True, eq=False)
class Autoregressive(_Ring):
    """Banded Toeplitz C with coefficients c: each row is corrected by the rows before it."""

    coefficients: FloatArray

    @property
    def rows(self) -> int:
        """bands - 1."""
        return self.coefficients.size - 1

    def advance(self, memory: np.ndarray, *, count: int, scale: float, step: int) -> None:
        """Solve the next rows of C Y = Z for the newest rows of Y."""
        from hockeystick._numerics.correlated import autoregressive

        autoregressive(memory, np.tile(self.coefficients, (count, 1)), scale, step)


@dataclass(frozen=True, eq=False)
class RowByRow(_Ring):
    """Any lower-triangular C: `entries[t, j]` is C[t, t - j]."""

    entries: FloatArray

    @property
    def rows(self) -> int:
        """bands - 1."""
        return int(self.entries.shape[1]) - 1

    def advance(self, memory: np.ndarray, *, count: int, scale: float, step: int) -> None:
        """Solve the next rows of C Y = Z for the newest rows of Y."""
        from hockeystick._numerics.correlated import autoregressive

        autoregressive(memory, self.entries[step : step + count], scale, step)


@dataclass(frozen=True, eq=False)
class MovingAverage(_Ring):
    """Banded Toeplitz C^-1 with the given coefficients: past independent noise is remembered."""

    inverse_coefficients: FloatArray

    @property
    def rows(self) -> int:
        """inverse bands - 1."""
        return self.inverse_coefficients.size - 1

    def done(self, step: int) -> int:
        """The place of the oldest independent noise that this step needed."""
        return self.fresh(step - self.rows)

    def advance(self, memory: np.ndarray, *, count: int, scale: float, step: int) -> None:
        """Multiply by the next rows of C^-1."""
        from hockeystick._numerics.correlated import moving_average

        moving_average(memory, self.inverse_coefficients, scale, step, count)


@dataclass(frozen=True, eq=False)
class Buffered:
    """C = diagonal (1 + sum_i weight_i z / (1 - decay_i z)): one buffer for each decay."""

    decays: FloatArray
    weights: FloatArray
    diagonal: float

    together = 1

    @property
    def rows(self) -> int:
        """One for each buffer."""
        return self.decays.size

    def fresh(self, step: int) -> int:
        """After the buffers."""
        return self.rows

    def done(self, step: int) -> int:
        """After the buffers."""
        return self.rows

    def advance(self, memory: np.ndarray, *, count: int, scale: float, step: int) -> None:
        """Subtract what the buffers hold, then feed them."""
        from hockeystick._numerics.correlated import buffered

        buffered(memory, self.decays, self.weights, scale / self.diagonal)
