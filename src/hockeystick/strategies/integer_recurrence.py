"""The noise recursion in integers: N_t = R((Z_t - a_1 N_(t-1) - a_2 N_(t-2) - ...) / a_0).

Z is in units of a fine lattice, N in units of a lattice that is 2^bits coarser, and the
coefficients a_j / 2^bits are those of C. R rounds to an integer. Why what is released is a
post-processing of C G + Z: docs/exact.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hockeystick._numerics.law import FloatArray
from hockeystick.errors import InvalidParameter
from hockeystick.strategies.noise import COEFFICIENT_BITS

__all__ = ["IntegerRecurrence", "NoiseBounds", "integer_recurrence"]

Integers = NDArray[Any]
# Integers that are summed at a time: 16 kilobytes, half of a first-level cache.
BLOCK = 2048
# Sums in the recursion stay below the first; numbers below the second, so that those in double
# precision are exact with a sum of data as large; 32 bits hold what is below the third.
LARGEST_SUM, LARGEST_NUMBER, LARGEST_SHORT = 2.0**62, 2.0**51, 2.0**31 - 1
# The sums of sizes below are computed in double precision: more than they can be wrong by.
SAFETY = 1.0 + 2.0**-10


@dataclass(frozen=True, eq=False)
class IntegerRecurrence:
    """Banded C with dyadic entries: `entries[t, j]` / 2^bits is C[t, t - j], one row if all agree.

    The exact counterpart of the autoregressive recurrences.
    """

    kind: ClassVar[str] = "Integer"

    entries: NDArray[np.int64]
    bits: int

    @property
    def rows(self) -> int:
        """bands - 1."""
        return int(self.entries.shape[1]) - 1

    @property
    def inverse_diagonal(self) -> FloatArray:
        """1 / C[t, t]."""
        inverse: FloatArray = 2.0**self.bits / self.entries[:, 0]
        return inverse

    @property
    def replayed(self) -> FloatArray | None:
        """Only if C is diagonal: there is nothing to remember then."""
        return self.inverse_diagonal if self.rows == 0 else None

    def solved(self, step: int, steps: int) -> None:
        """Integers are drawn a row at a time."""

    def advance(
        self, row: Integers, memory: Integers, *, scale: float, step: int, first: int = 0
    ) -> None:
        """Replace Z_t by N_t; `scale` is in the units already."""
        integer_step(row, memory, self.entries[step % len(self.entries)], step, first)


@dataclass(frozen=True)
class NoiseBounds:
    """The largest N, and the largest sum in the recursion, for |Z_t| of at most `largest`.

    C N = Z + a_0 r with rounding errors |r| <= 1/2, in units of the coarse lattice. So |N| is at
    most the largest absolute row sum of C^-1 times the largest |Z| + a_0 / 2; and a sum in the
    recursion is at most |Z| + sum_j a_j |N| [each in its own units].
    """

    number: float
    total: float

    @classmethod
    def of(
        cls, recurrence: IntegerRecurrence, inverse_rows: float, *, largest: float
    ) -> NoiseBounds:
        """For `largest` in units of the fine lattice; `inverse_rows` is the row sum of C^-1."""
        unit = 2.0**recurrence.bits
        diagonal = float(recurrence.entries[:, 0].max())
        number = SAFETY * inverse_rows * (largest + diagonal) / unit + 1.0
        total = SAFETY * (largest + float(recurrence.entries.sum(axis=1).max()) * number)
        return cls(number, total)

    @property
    def memory_type(self) -> type[np.signedinteger[Any]]:
        """The shorter type in which every N fits; `InvalidParameter` if there is none."""
        # NaN and infinity fail the comparison.
        if not (self.total < LARGEST_SUM and self.number < LARGEST_NUMBER):
            allowed = (
                "one whose noise stays below 2^51 points of the lattice, for exact arithmetic: the "
                "inverse of this one grows too far"
            )
            raise InvalidParameter("strategy", allowed, f"up to {self.number:.3g}")
        return np.int32 if self.number <= LARGEST_SHORT else np.int64


def integer_recurrence(entries: FloatArray) -> IntegerRecurrence:
    """From rows C[t, t], C[t, t - 1], ...; `InvalidParameter` unless multiples of 2^-20."""
    scaled = entries * 2.0**COEFFICIENT_BITS
    if not ((scaled == np.rint(scaled)).all() and np.abs(scaled).max() < LARGEST_SUM):
        allowed = (
            f"one whose entries are multiples of 2^-{COEFFICIENT_BITS}, for exact arithmetic: "
            "plan.exact() or strategy.exact() has it"
        )
        raise InvalidParameter("strategy", allowed, "other entries")
    integers = scaled.astype(np.int64)
    common = int(np.bitwise_or.reduce(integers, axis=None))
    spare = min((common & -common).bit_length() - 1, COEFFICIENT_BITS)
    return IntegerRecurrence(integers >> spare, COEFFICIENT_BITS - spare)


@njit(cache=True, nogil=True)
def integer_step(
    row: Integers, memory: Integers, a: NDArray[np.int64], step: int, first: int = 0
) -> None:
    """z_t becomes n_t = floor((z_t - sum_j a_j n_(t-j)) / a_0 + 1/2); memory is a ring of past n.

    `row` is of 64 bits; `memory` may be shorter. The row is that of the columns of memory from
    `first` on: of a part of them, compiled code would not know that numbers are side by side.
    """
    size = memory.shape[0]
    lags = min(size, step, a.size - 1)
    power = a[0] & (a[0] - 1) == 0
    shift, half = 0, a[0] >> 1
    while a[0] >> shift > 1:
        shift += 1
    inverse = 1.0 / a[0]
    for start in range(0, row.size, BLOCK):
        total = row[start : start + BLOCK]
        _subtract_past(total, memory, a, lags, step, first + start)
        if power:
            for k in range(total.size):
                total[k] = (total[k] + half) >> shift
        else:
            for k in range(total.size):
                total[k] = _floor_quotient(total[k] + half, a[0], inverse)
        if size > 0:
            # The oldest row is no longer needed in this block.
            newest = memory[step % size, first + start : first + start + total.size]
            for k in range(total.size):
                newest[k] = total[k]


@njit(cache=True, nogil=True)
def _floor_quotient(number: int, divisor: int, inverse: float) -> Any:
    """floor(number / divisor): an estimate in floating point, corrected in integers."""
    quotient = np.int64(math.floor(number * inverse))
    rest = number - quotient * divisor
    while rest < 0:
        quotient -= 1
        rest += divisor
    while rest >= divisor:
        quotient += 1
        rest -= divisor
    return quotient


@njit(cache=True, nogil=True)
def _subtract_past(
    total: Integers, memory: Integers, a: NDArray[np.int64], lags: int, step: int, start: int
) -> None:
    """Subtract a_j times the row of j steps ago, four rows at a time: sums stay in registers."""
    size, count = memory.shape[0], total.size
    j = 1
    while j + 3 <= lags:
        p = memory[(step - j) % size, start : start + count]
        q = memory[(step - j - 1) % size, start : start + count]
        r = memory[(step - j - 2) % size, start : start + count]
        s = memory[(step - j - 3) % size, start : start + count]
        ap, aq, ar, az = a[j], a[j + 1], a[j + 2], a[j + 3]
        for k in range(count):
            total[k] -= (ap * np.int64(p[k]) + aq * np.int64(q[k])) + (
                ar * np.int64(r[k]) + az * np.int64(s[k])
            )
        j += 4
    while j <= lags:
        p = memory[(step - j) % size, start : start + count]
        ap = a[j]
        for k in range(count):
            total[k] -= ap * np.int64(p[k])
        j += 1
