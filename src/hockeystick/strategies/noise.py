"""NoiseStream: the rows of C^-1 Z, one for each step."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from hockeystick import _validate as check
from hockeystick._numerics import series
from hockeystick._numerics.law import FloatArray
from hockeystick._numerics.threads import in_threads
from hockeystick._validate import positive_integer
from hockeystick.errors import InvalidParameter
from hockeystick.randomness import Key, RandomSource
from hockeystick.strategies.noise_parts import (
    WORKING_TYPES,
    Cipher,
    NoiseRow,
    check_row,
    check_scale,
    checked_dtype,
)
from hockeystick.strategies.noise_states import NoiseStates
from hockeystick.strategies.pieces import Coordinates, checked_coordinates, shares
from hockeystick.strategies.recurrence import Recurrence, fingerprint

__all__ = [
    "ARITHMETICS",
    "COEFFICIENT_BITS",
    "MOST_NUMBERS",
    "TOTAL_VARIATION",
    "NoiseStream",
    "movable",
    "refuse_unbanded",
    "rounded_entries",
]


NOISE_MEMORIES = ("rows", "replay")


class NoiseStream(NoiseStates, Iterator[npt.NDArray[Any]]):
    """An iterator over the rows of C^-1 Z, with independent entries of Z drawn as they are needed.

    Made by `Strategy.noise` or `Plan.noise`. It ends after the strategy's number of steps. Each row
    is the caller's own array. Memory is what the recurrence has to remember (bands - 1 rows; for
    BLT one row for each buffer; with noise_memory="replay" none) and the row itself. Up to eight
    rows are computed at once, in the places of remembered ones that no later row needs: one call in
    eight takes the time of all of them.

    All of Z follows from a key of 256 bits, every entry by its row and its coordinate, by the
    cipher ChaCha. So several streams with the same key and different `coordinates` hold parts of
    the same noise. `state` and `restore` continue a stream elsewhere, bit for bit; a state reveals
    past and future noise and must be kept as secret as the data. After an interrupted row only
    `restore` helps. Restoring an older state repeats noise: two releases with the same noise are
    not what was accounted. For the same reason a stream works only in the process that made it, and
    cannot be copied or pickled, and its scale, type and steps cannot be assigned to.

    Floating point: noise is drawn and summed in binary floating point, and the Gaussian mechanism
    is proven for real numbers. The low bits of a sum of data and noise can reveal something about
    the data that no proof here covers [Mironov12]; `ExactNoiseStream` is the way out.

    Attributes
    ----------
    steps
        How many rows there are.
    shape, dtype
        Of each row; where only some coordinates are held, a row is flat.
    coordinates
        The ranges of the flattened vector that are held here.
    noise_memory
        "rows" or "replay".
    scale
        The standard deviation of the entries of Z.

    Examples
    --------
    >>> import hockeystick as hs
    >>> stream = hs.strategies.bsr(10, bands=3).noise(4, scale=2.0, rng=7)
    >>> next(stream).shape, stream.step
    ((4,), 1)
    """

    what = "The noise stream"
    instead = "make a new stream, or let one follow the other by state() and restore()"

    def __init__(
        self,
        recurrence: Recurrence,
        *,
        steps: int,
        dimension: int | tuple[int, ...],
        scale: float,
        dtype: npt.DTypeLike,
        rng: RandomSource | Key,
        noise_memory: str = "rows",
        coordinates: Coordinates | None = None,
    ) -> None:
        self._recurrence, self._inverse = recurrence, recurrence.inverse_diagonal
        self.steps = steps
        self._step = self._ahead = 0
        self._whole_shape = _shape(dimension)
        size = math.prod(self._whole_shape)
        self.coordinates = checked_coordinates(coordinates, size)
        held = sum(stop - start for start, stop in self.coordinates)
        self.shape = self._whole_shape if coordinates is None else (held,)
        self.dtype, self.scale = self._checked(dtype, scale)
        self.noise_memory = check.choice(
            "noise_memory", noise_memory, NOISE_MEMORIES, "'rows' or 'replay'"
        )
        self._factors = _replayed_factors(recurrence) if noise_memory == "replay" else None
        rows = recurrence.rows if self._factors is None else 0
        self._key = rng if isinstance(rng, Key) else Key.of(rng)
        self._seeded = self._key.seeded
        self._shares = shares(self.coordinates)
        self._memory = self._blank(rows, held)
        self._cipher: Cipher | None = None
        self._intact = True

    def _checked(self, dtype: npt.DTypeLike, scale: float) -> tuple[np.dtype[Any], float]:
        """The type of rows, if it can hold noise of this scale."""
        checked = checked_dtype(dtype)
        return checked, check_scale(scale, checked, self._inverse)

    def _memory_type(self) -> npt.DTypeLike:
        return WORKING_TYPES[self.dtype.name]

    def __iter__(self) -> NoiseStream:
        return self

    def __next__(self) -> npt.NDArray[Any]:
        self.check_here()
        if self.step >= self.steps:
            raise StopIteration
        self._check_intact()
        # Whatever interrupts the row, its parts may have advanced by different amounts.
        self._intact = False
        row = self._next_row()
        self._step += 1
        self._intact = True
        return row

    def _blank(self, rows: int, held: int) -> npt.NDArray[Any]:
        """Memory before the first row."""
        return np.zeros((rows, held), self._memory_type())

    def _own(self, rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Memory that was read from a state."""
        return rows

    def _saved_memory(self) -> npt.NDArray[Any]:
        """A copy for a state."""
        return self.memory.copy()

    def _next_row(self) -> npt.NDArray[Any]:
        """Draw it."""
        size, cipher = math.prod(self.shape), self._cipher
        if cipher is None or cipher.key is not self._key:
            # Once for a key, which a restored state replaces.
            self._cipher = cipher = Cipher.of(self._key)
        row = NoiseRow.empty(size, self._memory.dtype, cipher, scale=self.scale, step=self.step)
        memory, recurrence = self._memory, self._recurrence
        solved = recurrence.solved(self.step, self.steps) if not self._ahead else None
        if self._factors is not None:
            in_threads(partial(row.replay, share, self._factors) for share in self._shares)
        elif self._ahead or solved is not None:
            in_threads(partial(row.take, share, memory, solved) for share in self._shares)
            self._ahead = (self._ahead if solved is None else len(solved)) - 1
        else:
            in_threads(partial(row.advance, share, memory, recurrence) for share in self._shares)
        check_row(row.extremes, self.dtype, self._newest())
        return row.row.astype(self.dtype, copy=False).reshape(self.shape)

    def _newest(self) -> float:
        """The standard deviation of the part of the next row that is new in it."""
        return self.scale * float(self._inverse[self.step % self._inverse.size])

    @property
    def memory(self) -> npt.NDArray[Any]:
        """What is remembered of the held coordinates, one column for each, in their order.

        Not a copy: the next row changes it. The columns of several streams with one key, put
        together in the order of the coordinates, are the memory of a stream that holds all of them.
        """
        self.check_here()
        self._check_intact()
        return self._memory

    def _description(self) -> dict[str, Any]:
        """What two streams must have in common to exchange states."""
        return {
            "steps": self.steps,
            "scale": self.scale,
            "shape": self._whole_shape,
            "dtype": self.dtype.name,
            "recurrence": fingerprint(self._recurrence),
            "noise_memory": self.noise_memory,
            "generator": self._key.kind,
        }


def _replayed_factors(recurrence: Recurrence) -> FloatArray:
    """The coefficients of a banded C^-1; `InvalidParameter` for strategies that have none."""
    factors = recurrence.replayed
    if factors is None:
        allowed = (
            "'rows' for this strategy: only where the inverse of C has few bands (identity, bisr, "
            "band_inv_mf, lambda_cgd) earlier rows of Z can be drawn again"
        )
        raise InvalidParameter("noise_memory", allowed, "replay")
    return factors


def _shape(dimension: int | tuple[int, ...]) -> tuple[int, ...]:
    sizes = dimension if isinstance(dimension, tuple) else (dimension,)
    return tuple(positive_integer("dimension", size) for size in sizes)


ARITHMETICS = ("float", "exact")
# A strategy loses some 1e-12 of its error by rounding to so many digits; more of them would be
# taken from the noise (`NoiseBounds`).
COEFFICIENT_BITS = 20
# The numbers that a stream draws, at most, and how far they are together from their law in total
# variation: 2^-188 each, as `rounded_normals` proves.
MOST_NUMBERS = 2.0**64
TOTAL_VARIATION = MOST_NUMBERS * 2.0**-188


# The largest steps * (bands + 1) with which coefficients are wrong by less than 2^-31.
MOST_PRODUCTS = 2**21


def rounded_entries(entries: FloatArray) -> FloatArray:
    """To the nearest multiples of 2^-20."""
    unit = 2.0**COEFFICIENT_BITS
    rounded: FloatArray = np.rint(entries * unit) / unit
    return rounded


def movable(inverse: FloatArray, steps: int) -> bool:
    """Whether exact noise is a moving sum: C is the inverse of the series, relatively to 2^-31.

    That is so if its recursion was computed, and all its terms have one sign: then coefficients are
    wrong by at most steps * (bands + 1) * 2^-52 of themselves (`exact_moving`).
    """
    few = inverse.size <= series.DIRECT and steps * (inverse.size + 1) <= MOST_PRODUCTS
    return bool(few and inverse[0] > 0 and (inverse[1:] <= 0).all())


def refuse_unbanded(strategy: object) -> NoReturn:
    """`InvalidParameter` for a strategy whose exact noise would have to remember every step."""
    allowed = (
        "one that remembers as many rows of noise as C or its inverse has bands, for exact "
        "arithmetic; from_coefficients with the coefficients of this one is the same matrix and "
        "remembers more rows"
    )
    raise InvalidParameter("strategy", allowed, strategy)
