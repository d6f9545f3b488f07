"""Parts of a row of a noise stream: drawn, and correlated with what is remembered of them.

Which noise a floating-point type can represent: the part of row t of C^-1 Z that is new in step t
has the standard deviation s_t = scale * (C^-1)[t, t]; everything else in the row is known from the
steps before. The row is noise only as far as its type resolves the new part.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hockeystick._numerics.law import FloatArray
from hockeystick.errors import InvalidParameter, PrecisionError
from hockeystick.randomness import Key
from hockeystick.strategies.pieces import Stretch
from hockeystick.strategies.recurrence import Recurrence

__all__ = [
    "WORKING_TYPES",
    "Cipher",
    "NoiseRow",
    "check_row",
    "check_scale",
    "checked_dtype",
]

# The purpose of the secret that noise follows from; no other is derived with this name.
PURPOSE = b"noise"


class Cipher(NamedTuple):
    """A key, and what the blocks of all its rows begin with."""

    key: Key
    head: npt.NDArray[np.uint32]

    @classmethod
    def of(cls, key: Key) -> Cipher:
        """The head follows from the key."""
        from hockeystick._numerics.chacha import cipher_head

        return cls(key, cipher_head(key.secret(PURPOSE)))


@dataclass(frozen=True, eq=False)
class NoiseRow:
    """Row `step` of scale C^-1 Z, of which threads fill parts.

    Attributes
    ----------
    row
        The local vector.
    head, rounds
        Of the cipher.
    extremes
        The largest absolute value of every stretch.
    """

    row: npt.NDArray[Any]
    head: npt.NDArray[np.uint32]
    rounds: int
    scale: float
    step: int
    extremes: list[float] = field(default_factory=list)

    @classmethod
    def empty(cls, size: int, dtype: Any, cipher: Cipher, *, scale: float, step: int) -> NoiseRow:
        """Nothing is drawn yet."""
        return cls(np.empty(size, dtype), cipher.head, cipher.key.rounds, scale, step)

    def advance(
        self, share: list[Stretch], memory: npt.NDArray[Any], recurrence: Recurrence
    ) -> None:
        """Draw the stretches and correlate them with the rows in `memory`, which advance."""
        from hockeystick.strategies.normals import fill_normal

        for start, where in share:
            mine = self.row[where]
            fill_normal(mine, start, self.head, step=self.step, rounds=self.rounds)
            recurrence.advance(
                mine, memory, scale=self.scale, step=self.step, first=int(where.start)
            )
            self._measure(mine)

    def take(
        self, share: list[Stretch], memory: npt.NDArray[Any], solved: FloatArray | None
    ) -> None:
        """Copy the stretches out of the ring of output rows in `memory`.

        With rows of C the row and those after it are drawn and solved for before (`solved`).
        """
        from hockeystick.strategies.recurrence_kernels import autoregressive_ahead

        for start, where in share:
            if solved is not None:
                autoregressive_ahead(
                    memory,
                    where.start,
                    where.stop - where.start,
                    start,
                    self.head,
                    self.rounds,
                    solved,
                    self.scale,
                    self.step,
                )
            mine = self.row[where]
            mine[:] = memory[self.step % len(memory), where]
            self._measure(mine)

    def replay(self, share: list[Stretch], factors: FloatArray) -> None:
        """The stretches of the sum over j of factor_j times row step - j of Z.

        Earlier rows are drawn again. The sums are those of a stream that remembers them, in the
        same order.
        """
        from hockeystick.strategies.normals import fill_combination

        for start, where in share:
            mine = self.row[where]
            fill_combination(
                mine,
                start,
                self.head,
                step=self.step,
                rounds=self.rounds,
                factors=factors,
                scale=self.scale,
            )
            self._measure(mine)

    def _measure(self, mine: npt.NDArray[Any]) -> None:
        """While it is in the cache."""
        from hockeystick.strategies.normals import largest

        self.extremes.append(largest(mine))


# Which type a stream computes in, for each type it can return.
WORKING_TYPES = {"float16": np.float32, "float32": np.float32, "float64": np.float64}
# s_t in units of the smallest normal number, at least: below it numbers lose their digits, or are
# flushed to zero. And multiples of s_t that are finite: no generator draws beyond 14.
LEAST_NORMAL, MOST_DEVIATIONS = 2.0**4, 2.0**6
# The largest entry of a row in units of s_t. A number of p binary digits resolves 2^-p of itself:
# 2^-10 of s_t for the wider types, and 2^-5 for half precision, which has 11 digits.
LARGEST_ENTRY = {
    np.dtype(np.float16): 2.0**6,
    np.dtype(np.float32): 2.0**14,
    np.dtype(np.float64): 2.0**43,
}


def check_scale(scale: float, dtype: np.dtype[Any], inverse_diagonal: FloatArray) -> float:
    """The scale, if every s_t and its multiples are normal numbers; `InvalidParameter` otherwise.

    For half precision scales between about 0.001 and 1000 remain where C has a unit diagonal.
    """
    limits = np.finfo(dtype)
    least = LEAST_NORMAL * float(limits.tiny) / float(inverse_diagonal.min())
    most = float(limits.max) / MOST_DEVIATIONS / float(inverse_diagonal.max())
    if not least <= scale <= most:
        allowed = f"in [{least:.3g}, {most:.3g}] for noise of this strategy in {dtype.name}"
        raise InvalidParameter("scale", allowed, scale)
    return scale


def check_row(extremes: Iterable[float], dtype: np.dtype[Any], new: float) -> None:
    """`PrecisionError` if rounding to `dtype` loses what is new in the row; `new` is s_t.

    `extremes` has the largest absolute value of each of its parts, or the smallest and the largest
    entry.

    Where the inverse of C grows, a row is dominated by what earlier rows contribute, and in the
    end nothing else is left of it, nor is it finite.
    """
    limit = min(LARGEST_ENTRY[dtype] * new, sys.float_info.max)
    # A NaN in the row makes extremes NaN, and the comparison fail.
    if not all(abs(entry) <= limit for entry in extremes):
        raise PrecisionError(
            f"The noise cannot be held in {dtype.name} any more: the inverse of this strategy "
            "grows too fast.",
            lower=0.0,
            upper=math.inf,
        )


def checked_dtype(dtype: Any) -> np.dtype[Any]:
    """The type of a row; `InvalidParameter` unless it is a floating-point type."""
    try:
        checked: np.dtype[Any] = np.dtype(dtype)
    except TypeError:
        raise _refused(dtype) from None
    # NumPy takes None for double precision.
    if dtype is None or checked.name not in WORKING_TYPES:
        raise _refused(dtype)
    return checked


def _refused(dtype: object) -> InvalidParameter:
    return InvalidParameter("dtype", f"one of {', '.join(WORKING_TYPES)}", dtype)
