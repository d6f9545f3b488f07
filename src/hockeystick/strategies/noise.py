"""NoiseStream: the rows of C^-1 Z, one for each step."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from hockeystick._numerics.threads import in_threads
from hockeystick._process import SetOnce, SingleUse
from hockeystick._states import MALFORMED, check_digest, restored_generator, state_digest
from hockeystick._validate import positive_integer
from hockeystick.errors import HockeystickError, InvalidParameter
from hockeystick.randomness import RandomSource, generators, is_secret
from hockeystick.strategies.noise_range import WORKING_TYPES, check_row, check_scale
from hockeystick.strategies.recurrence import Recurrence, fingerprint

__all__ = ["NoiseStream"]

# A long row is drawn in parts of at least this many numbers, each with a generator of its own, so
# that several cores can work on it; below it a thread costs more than it gains. The number of parts
# does not depend on the machine, so that a seed gives the same noise everywhere.
SMALLEST_PART, MOST_PARTS = 2**18, 16


@dataclass
class _Part:
    """Neighbouring coordinates with their generator and what the recurrence remembers of them."""

    where: slice
    generator: np.random.Generator
    memory: npt.NDArray[Any]

    def advance(
        self, row: npt.NDArray[Any], recurrence: Recurrence, *, scale: float, step: int
    ) -> None:
        """Fill this part of the row."""
        from hockeystick.strategies.normals import fill_normal

        mine = row[self.where]
        fill_normal(mine, self.generator)
        recurrence.advance(mine, self.memory, scale=scale, step=step)

    def at(self, generator: Any, memory: Any) -> _Part:
        """The same part at another time; both arguments come from a saved state."""
        source = restored_generator(self.generator.bit_generator, generator)
        rows = np.array(memory)
        same = (rows.shape, rows.dtype) == (self.memory.shape, self.memory.dtype)
        if not (same and np.isfinite(rows).all()):
            allowed = f"with memory of shape {self.memory.shape} and type {self.memory.dtype}"
            raise InvalidParameter("state", allowed, (rows.shape, rows.dtype))
        return _Part(self.where, source, rows)


class NoiseStream(SetOnce, SingleUse, Iterator[npt.NDArray[Any]]):
    """An iterator over the rows of C^-1 Z, with independent entries of Z drawn as they are needed.

    Made by `Strategy.noise` or `Plan.noise`. It ends after the strategy's number of steps. Each row
    is the caller's own array. Memory is what the recurrence has to remember (bands - 1 rows; for
    BLT one row for each buffer) and the row itself. `state` and `restore` continue a stream
    elsewhere, bit for bit; a state reveals past and future noise and must be kept as secret as the
    data. After an interrupted row only `restore` helps. Restoring an older state repeats noise: two
    releases with the same noise are not what was accounted. For the same reason a stream works only
    in the process that made it, and cannot be copied or pickled, and its scale, type and steps
    cannot be assigned to.

    Floating point: noise is drawn and summed in binary floating point, and the Gaussian mechanism
    is proven for real numbers. The low bits of a sum of data and noise can reveal something about
    the data that no proof here covers [Mironov12].

    Attributes
    ----------
    steps
        How many rows there are.
    shape, dtype
        Of each row.
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
        rng: RandomSource,
    ) -> None:
        self._recurrence = recurrence
        self.steps = steps
        self._step = 0
        self.shape = _shape(dimension)
        self.dtype = _dtype(dtype)
        self.scale = check_scale(scale, self.dtype, recurrence.inverse_diagonal)
        self._seeded = not is_secret(rng)
        self._parts = self._make_parts(rng)
        self._intact = True

    def _make_parts(self, rng: RandomSource) -> list[_Part]:
        size = math.prod(self.shape)
        wanted = 2 ** int(math.log2(min(max(size // SMALLEST_PART, 1), MOST_PARTS)))
        sources = generators(rng, wanted)
        edges = [size * i // len(sources) for i in range(len(sources) + 1)]
        working = WORKING_TYPES[self.dtype.name]
        return [
            _Part(slice(a, b), source, np.zeros((self._recurrence.rows, b - a), working))
            for source, (a, b) in zip(sources, pairwise(edges), strict=True)
        ]

    @property
    def step(self) -> int:
        """How many rows were drawn."""
        return self._step

    @property
    def seeded(self) -> bool:
        """Whether noise came from a seed of the caller, here or before a state was saved."""
        return self._seeded

    def __iter__(self) -> NoiseStream:
        return self

    def __next__(self) -> npt.NDArray[Any]:
        self.check_here()
        if self.step >= self.steps:
            raise StopIteration
        self._check_intact()
        # Whatever interrupts the row, its parts may have advanced by different amounts.
        self._intact = False
        row = np.empty(math.prod(self.shape), WORKING_TYPES[self.dtype.name])
        in_threads(
            partial(part.advance, row, self._recurrence, scale=self.scale, step=self.step)
            for part in self._parts
        )
        inverse = self._recurrence.inverse_diagonal
        check_row(row, self.dtype, self.scale * float(inverse[self.step % inverse.size]))
        self._step += 1
        self._intact = True
        return row.astype(self.dtype, copy=False).reshape(self.shape)

    def _check_intact(self) -> None:
        if not self._intact:
            raise HockeystickError(
                f"Row {self.step} of the noise was interrupted and the stream is not what was "
                "accounted any more; restore a saved state."
            )

    def state(self) -> dict[str, Any]:
        """Everything needed to continue from here: plain numbers, text and arrays."""
        self.check_here()
        self._check_intact()
        content = {
            "step": self.step,
            "seeded": self.seeded,
            **self._description(),
            "memory": [part.memory.copy() for part in self._parts],
            "generators": [deepcopy(part.generator.bit_generator.state) for part in self._parts],
        }
        return {**content, "digest": state_digest(content)}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a saved state; it has to come from a stream of the same description.

        Parameters
        ----------
        state
            What `state()` returned, here or in another process.

        Raises
        ------
        InvalidParameter
            If the state is of another stream, was changed, or has generators that cannot draw. The
            stream is not changed then.
        """
        self.prepared(state)()

    def prepared(self, state: Mapping[str, Any]) -> Callable[[], None]:
        """`restore` in two parts: everything is checked now, and changed when the result is called.

        Callers that restore several things at once check all of them first.
        """
        self.check_here()
        try:
            step, parts = self._read(state)
            check_digest(state)
            seeded = bool(state["seeded"])
        except InvalidParameter:
            raise
        except MALFORMED as error:
            raise InvalidParameter("state", "what `state()` returned", type(state)) from error

        def change() -> None:
            self._step, self._parts, self._intact = step, parts, True
            self._seeded = self._seeded or seeded

        return change

    def _read(self, state: Mapping[str, Any]) -> tuple[int, list[_Part]]:
        for name, value in self._description().items():
            theirs = state[name]
            if theirs != value:
                raise InvalidParameter("state", f"of a stream with {name} {value}", theirs)
        step = operator.index(state["step"])
        if not 0 <= step <= self.steps:
            raise InvalidParameter("state", f"at a step in [0, {self.steps}]", step)
        sources = state["generators"]
        if len({state_digest(one) for one in sources}) < len(sources):
            raise InvalidParameter("state", "with a generator of its own for each part", "equal")
        saved = zip(self._parts, sources, state["memory"], strict=True)
        parts = [part.at(generator, memory) for part, generator, memory in saved]
        if step and any(part.memory.size and not part.memory.any() for part in parts):
            raise InvalidParameter("state", f"with the noise of {step} steps", "zeros")
        return step, parts

    def _description(self) -> dict[str, Any]:
        """What two streams must have in common to exchange states."""
        return {
            "steps": self.steps,
            "scale": self.scale,
            "shape": self.shape,
            "dtype": self.dtype.name,
            "recurrence": fingerprint(self._recurrence),
            "parts": len(self._parts),
            "generator": self._parts[0].generator.bit_generator.state["bit_generator"],
        }


def _shape(dimension: int | tuple[int, ...]) -> tuple[int, ...]:
    sizes = dimension if isinstance(dimension, tuple) else (dimension,)
    return tuple(positive_integer("dimension", size) for size in sizes)


def _dtype(dtype: Any) -> np.dtype[Any]:
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
