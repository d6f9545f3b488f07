"""NoiseStream: the rows of C^-1 Z, one for each step."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from hockeystick._validate import positive_integer
from hockeystick.errors import InvalidParameter
from hockeystick.strategies.recurrence import Recurrence

__all__ = ["NoiseStream"]

# Which type a stream computes in, for each type it can return.
WORKING_TYPES = {"float16": np.float32, "float32": np.float32, "float64": np.float64}


class NoiseStream(Iterator[npt.NDArray[Any]]):
    """An iterator over the rows of C^-1 Z, with independent entries of Z drawn as they are needed.

    It ends after the strategy's number of steps. Each row is the caller's own array. Memory is what
    the recurrence has to remember (bands - 1 rows; for BLT one row for each buffer) and the row
    itself. `state` and `restore` continue a stream elsewhere, bit for bit; a state reveals past and
    future noise and must be kept as secret as the data.

    Floating point: noise is drawn and summed in binary floating point, and the Gaussian mechanism
    is proven for real numbers. The low bits of a sum of data and noise can reveal something about
    the data that no proof here covers, see Mironov (2012), "On significance of the least
    significant bits for differential privacy".
    """

    def __init__(
        self,
        recurrence: Recurrence,
        *,
        steps: int,
        dimension: int | tuple[int, ...],
        scale: float,
        dtype: npt.DTypeLike,
        generator: np.random.Generator,
    ) -> None:
        self._recurrence = recurrence
        self.steps = steps
        self.step = 0
        self.scale = scale
        self.shape = _shape(dimension)
        self.dtype = _dtype(dtype)
        self._generator = generator
        size = math.prod(self.shape)
        self._memory = np.zeros((recurrence.rows, size), WORKING_TYPES[self.dtype.name])

    def __iter__(self) -> NoiseStream:
        return self

    def __next__(self) -> npt.NDArray[Any]:
        if self.step >= self.steps:
            raise StopIteration
        row = np.empty(self._memory.shape[1], self._memory.dtype)
        self._generator.standard_normal(out=row, dtype=self._memory.dtype)
        self._recurrence.advance(row, self._memory, scale=self.scale, step=self.step)
        self.step += 1
        return row.astype(self.dtype, copy=False).reshape(self.shape)

    def state(self) -> dict[str, Any]:
        """Everything needed to go on from here: plain numbers, text and arrays."""
        return {
            "step": self.step,
            "steps": self.steps,
            "scale": self.scale,
            "shape": self.shape,
            "dtype": self.dtype.name,
            "memory": self._memory.copy(),
            "generator": copy.deepcopy(self._generator.bit_generator.state),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a saved state; it has to come from a stream of the same description.

        Nothing is changed if it does not.
        """
        kind = type(self._generator.bit_generator)
        mine = {
            "steps": self.steps,
            "scale": self.scale,
            "shape": self.shape,
            "dtype": self.dtype.name,
            "memory": self._memory.shape,
            "generator": self._generator.bit_generator.state["bit_generator"],
        }
        theirs = {name: state.get(name) for name in mine}
        theirs["shape"] = tuple(theirs["shape"] or ())
        theirs["memory"] = np.shape(state.get("memory", ()))
        theirs["generator"] = dict(theirs["generator"] or {}).get("bit_generator")
        for name, value in mine.items():
            if theirs[name] != value:
                raise InvalidParameter("state", f"of a stream with {name} {value}", theirs[name])
        fresh = kind()
        fresh.state = state["generator"]
        self._generator = np.random.Generator(fresh)
        self._memory = np.array(state["memory"], dtype=self._memory.dtype)
        self.step = int(state["step"])


def _shape(dimension: int | tuple[int, ...]) -> tuple[int, ...]:
    sizes = dimension if isinstance(dimension, tuple) else (dimension,)
    return tuple(positive_integer("dimension", size) for size in sizes)


def _dtype(dtype: npt.DTypeLike) -> np.dtype[Any]:
    try:
        wanted = np.dtype(dtype)
    except TypeError:
        wanted = None
    if wanted is None or wanted.name not in WORKING_TYPES:
        raise InvalidParameter("dtype", f"one of {', '.join(WORKING_TYPES)}", dtype)
    return wanted
