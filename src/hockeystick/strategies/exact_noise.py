"""ExactNoiseStream: correlated noise in integers, with a law that is proven to the last bit."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from hockeystick import _validate as check
from hockeystick._numerics.law import FloatArray
from hockeystick._numerics.threads import in_threads
from hockeystick.errors import InvalidParameter
from hockeystick.randomness import CRYPTOGRAPHIC, Key, RandomSource
from hockeystick.strategies.integer_recurrence import (
    IntegerRecurrence,
    NoiseBounds,
    integer_recurrence,
)
from hockeystick.strategies.noise import MOST_NUMBERS, NoiseStream
from hockeystick.strategies.pieces import Coordinates, Group, groups
from hockeystick.strategies.recurrence import Recurrence
from hockeystick.strategies.rounded_normals import LARGEST, fill_rounded

__all__ = ["ExactNoiseStream", "checked_resolution"]

# Lattice points in a standard deviation of Z, as a power of two. Rounding 2^20 coordinates moves a
# vector by at most 2^-15 of it, and noise of common strategies fits into 32 bits.
RESOLUTION, MOST_RESOLUTION = 24, 40
# Beyond, squares of gradients and of the lattice could leave the normal numbers.
LEAST_SCALE, MOST_SCALE = 2.0**-400, 2.0**400
# Steps have 48 bits of a nonce.
MOST_STEPS = 2**48


class ExactNoiseStream(NoiseStream):
    """The noise of C^-1 Z as integers, in units of `lattice`; made with `arithmetic="exact"`.

    For sums G on the lattice, G + noise is a function of C G + Z over the real numbers, with Z
    rounded once: a post-processing of the mechanism that is accounted, whatever happens to it later
    (docs/exact.md). Rounded normal integers have their law up to a total variation of 2^-188 each
    (`rounded_normals`); everything after them is integer arithmetic that cannot overflow. The words
    they are made of are those of ChaCha20, with a key from the operating system unless `rng` is a
    seed.

    Memory is bands - 1 rows of 32-bit integers if they provably fit, otherwise of 64-bit ones.

    Attributes
    ----------
    lattice
        The distance of neighbouring numbers: scale / 2^resolution.
    resolution
        Lattice points in a standard deviation of Z, as a power of two.

    Examples
    --------
    >>> import hockeystick as hs
    >>> plan = hs.Plan(sampling=hs.FullBatch(), steps=10, strategy=hs.strategies.bsr(10, bands=3))
    >>> stream = plan.noise(4, scale=2.0, arithmetic="exact")
    >>> next(stream).dtype, stream.lattice == 2.0 / 2**24
    (dtype('int64'), True)
    """

    def __init__(
        self,
        entries: FloatArray,
        inverse_rows: float,
        *,
        steps: int,
        dimension: int | tuple[int, ...],
        scale: float,
        rng: RandomSource | Key,
        noise_memory: str = "rows",
        coordinates: Coordinates | None = None,
        resolution: int | None = None,
    ) -> None:
        """`entries` are rows of C as for `integer_recurrence`; `inverse_rows` bounds its inverse.

        That is, the largest sum of absolute values in a row of C^-1.
        """
        integers = integer_recurrence(entries)
        resolution = checked_resolution(resolution)
        bits = resolution + integers.bits
        bounds = NoiseBounds.of(integers, inverse_rows, largest=LARGEST * 2.0**bits + 1.0)
        self._integers: IntegerRecurrence = integers
        self._begin(
            integers,
            bounds=bounds,
            bits=bits,
            resolution=resolution,
            steps=steps,
            dimension=dimension,
            scale=scale,
            rng=rng,
            noise_memory=noise_memory,
            coordinates=coordinates,
        )

    def _begin(
        self,
        recurrence: Recurrence,
        *,
        bounds: NoiseBounds,
        bits: int,
        resolution: int,
        steps: int,
        dimension: int | tuple[int, ...],
        rng: RandomSource | Key,
        **how: Any,
    ) -> None:
        """`bits` are those of the integers that are drawn."""
        self.resolution, self._bits, self._bounds = resolution, bits, bounds
        NoiseStream.__init__(
            self,
            recurrence,
            steps=steps,
            dimension=dimension,
            dtype=np.int64,
            # Everything is drawn by ChaCha20 in this mode.
            rng=None if isinstance(rng, str) and rng == CRYPTOGRAPHIC else rng,
            **how,
        )
        self._groups = groups(self.coordinates, math.prod(self._whole_shape))
        self.lattice = self.scale * 2.0**-self.resolution
        if not (steps < MOST_STEPS and steps * float(math.prod(self._whole_shape)) < MOST_NUMBERS):
            raise InvalidParameter("dimension", "with fewer than 2^64 numbers in all", dimension)

    @property
    def largest(self) -> float:
        """No number in a row is larger, in units of the lattice."""
        return self._bounds.number

    def _checked(self, dtype: npt.DTypeLike, scale: float) -> tuple[np.dtype[Any], float]:
        if not LEAST_SCALE <= scale <= MOST_SCALE:
            raise InvalidParameter("scale", "in [2^-400, 2^400] for exact arithmetic", scale)
        return np.dtype(dtype), scale

    def _rescale(self, scale: float) -> None:
        super()._rescale(scale)
        vars(self)["lattice"] = scale * 2.0**-self.resolution

    def _memory_type(self) -> npt.DTypeLike:
        return self._bounds.memory_type

    def _next_row(self) -> npt.NDArray[Any]:
        row = np.empty(math.prod(self.shape), np.int64)
        in_threads(partial(self._advance, row, group) for group in self._groups)
        return row.reshape(self.shape)

    def _advance(self, row: npt.NDArray[np.int64], group: Group) -> None:
        """Fill the part of the row that the group holds."""
        self._draw(row, group, self.step)
        self._integers.advance(
            row[group.where], self._memory, scale=1.0, step=self.step, first=group.where.start
        )

    def _draw(self, row: npt.NDArray[np.int64], group: Group, step: int) -> None:
        """Rounded normal integers of a step, for the coordinates of the group."""
        for piece in group.pieces:
            piece.filled(
                row,
                partial(
                    fill_rounded,
                    key=self._key.words,
                    piece=piece.index,
                    step=step,
                    bits=self._bits,
                ),
            )

    def _description(self) -> dict[str, Any]:
        found = super()._description()
        return {**found, "generator": "ChaCha20", "resolution": self.resolution}


def checked_resolution(resolution: int | None) -> int:
    """An integer in the range of lattices, 24 by default."""
    if resolution is None:
        return RESOLUTION
    bits = check.positive_integer("resolution", resolution)
    if not RESOLUTION <= bits <= MOST_RESOLUTION:
        raise InvalidParameter(
            "resolution", f"an integer in [{RESOLUTION}, {MOST_RESOLUTION}]", resolution
        )
    return bits
