"""The states of noise streams: saved, continued elsewhere, and changed between rows."""

from __future__ import annotations

import operator
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from hockeystick._process import SetOnce, SingleUse
from hockeystick._states import MALFORMED, check_digest, state_digest
from hockeystick.errors import HockeystickError, InvalidParameter
from hockeystick.randomness import Key
from hockeystick.strategies.pieces import Coordinates
from hockeystick.strategies.recurrence import Recurrence

__all__ = ["NoiseStates"]


class NoiseStates(SetOnce, SingleUse):
    """The part of a `NoiseStream` that saves, restores and changes it."""

    steps: int
    coordinates: Coordinates
    dtype: np.dtype[Any]
    scale: float
    _recurrence: Recurrence
    _step: int
    _ahead: int
    _key: Key
    _seeded: bool
    _intact: bool
    _memory: npt.NDArray[Any]

    @property
    def step(self) -> int:
        """How many rows were drawn."""
        return self._step

    @property
    def seeded(self) -> bool:
        """Whether noise came from a seed of the caller, here or before a state was saved."""
        return self._seeded

    @abstractmethod
    def _checked(self, dtype: npt.DTypeLike, scale: float) -> tuple[np.dtype[Any], float]:
        """The type of rows, if it can hold noise of this scale."""

    @abstractmethod
    def _memory_type(self) -> npt.DTypeLike:
        """Of what is remembered."""

    @abstractmethod
    def _own(self, rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Memory that was read from a state."""

    @abstractmethod
    def _saved_memory(self) -> npt.NDArray[Any]:
        """A copy for a state."""

    @abstractmethod
    def _description(self) -> dict[str, Any]:
        """What two streams must have in common to exchange states."""

    def _check_intact(self) -> None:
        if not self._intact:
            raise HockeystickError(
                f"Row {self.step} of the noise was interrupted and the stream is not what was "
                "accounted any more; restore a saved state."
            )

    def head(self) -> dict[str, Any]:
        """The state without what depends on the coordinates: with `memory` it is complete."""
        self.check_here()
        self._check_intact()
        content = {
            "step": self.step,
            "ahead": self._ahead,
            "seeded": self.seeded,
            **self._description(),
            "key": np.array(self._key.words, dtype=np.uint64),
        }
        return {**content, "digest": state_digest(content)}

    def state(self) -> dict[str, Any]:
        """Everything needed to continue from here: plain numbers, text and arrays."""
        content = {**self.head(), "coordinates": self._edges(), "memory": self._saved_memory()}
        return {**content, "digest": state_digest(content)}

    def restore(self, state: Mapping[str, Any], memory: Any = None) -> None:
        """Continue from a saved state; it has to come from a stream of the same description.

        Parameters
        ----------
        state
            What `state()` returned, here or in another process; or what `head()` returned.
        memory
            With a head: the memory of the coordinates that this stream holds. They may have been
            shared out in another way when it was saved.

        Raises
        ------
        InvalidParameter
            If the state is of another stream, was changed, or has no key in it. The stream is not
            changed then.
        """
        self.prepared(state, memory)()

    def change(self, *, scale: float, reason: str | None = None) -> None:
        """Another standard deviation from the next row on, where rows are independent.

        Parameters
        ----------
        scale
            The standard deviation.
        reason
            What changes, as a text: from here on numbers follow from another key, made from the
            present one and the text. A stream that is restored and changed in another way then has
            independent noise, and not the same noise on another scale.

        Raises
        ------
        InvalidParameter
            If rows are correlated, or the type of the rows does not hold such noise.
        """
        self.check_here()
        self._check_intact()
        if self._recurrence.rows:
            allowed = "left as it is: the noise of different steps is correlated"
            raise InvalidParameter("scale", allowed, scale)
        self._rescale(self._checked(self.dtype, scale)[1])
        if reason is not None:
            self._key = self._key.after(f"row {self.step}: {reason}")

    def _rescale(self, scale: float) -> None:
        """The attribute is read-only for everybody else."""
        vars(self)["scale"] = scale

    def forward(self, step: int) -> None:
        """Leave rows out, where rows are independent: the next one is that of `step`."""
        self.check_here()
        if self._recurrence.rows or not self.step <= step <= self.steps:
            allowed = f"in [{self.step}, {self.steps}], for independent rows"
            raise InvalidParameter("step", allowed, step)
        self._step = step

    def prepared(
        self, state: Mapping[str, Any], memory: Any = None, *, scale: float | None = None
    ) -> Callable[[], None]:
        """`restore` in two parts: everything is checked now, and changed when the result is called.

        Callers that restore several things at once check all of them first. With a `scale` the
        state is that of a stream that was changed to it.
        """
        self.check_here()
        scale = self.scale if scale is None else self._checked(self.dtype, scale)[1]
        if scale != self.scale and self._recurrence.rows:
            raise InvalidParameter("scale", f"{self.scale:g} for correlated noise", scale)
        try:
            step, ahead, key, rows = self._read(state, memory, scale)
            check_digest(state)
            seeded = bool(state["seeded"])
        except InvalidParameter:
            raise
        except MALFORMED as error:
            raise InvalidParameter("state", "what `state()` returned", type(state)) from error

        def change() -> None:
            self._step, self._ahead, self._key, self._intact = step, ahead, key, True
            self._memory = self._own(rows)
            self._rescale(scale)
            self._seeded = self._seeded or seeded

        return change

    def _read(
        self, state: Mapping[str, Any], memory: Any, scale: float
    ) -> tuple[int, int, Key, npt.NDArray[Any]]:
        whole = memory is None
        wanted = {**self._description(), "scale": scale} | (
            {"coordinates": self._edges()} if whole else {}
        )
        for name, value in wanted.items():
            theirs = state[name]
            if theirs != value:
                raise InvalidParameter("state", f"of a stream with {name} {value}", theirs)
        step = operator.index(state["step"])
        if not 0 <= step <= self.steps:
            raise InvalidParameter("state", f"at a step in [0, {self.steps}]", step)
        # Rows that wait in the memory; states of earlier versions have none.
        ahead = operator.index(state.get("ahead", 0))
        if ahead and not (step and 0 <= ahead < self._most_ahead(step - 1)):
            raise InvalidParameter("state", "with rows of noise that can wait", ahead)
        rows = np.array(state["memory"] if whole else memory, order="C")
        shape, dtype = tuple(self._memory.shape), np.dtype(self._memory_type())
        if not ((rows.shape, rows.dtype) == (shape, dtype) and np.isfinite(rows).all()):
            allowed = f"with memory of shape {shape} and type {dtype}"
            raise InvalidParameter("state", allowed, (rows.shape, rows.dtype))
        if step and rows.size and not rows[: min(step + ahead, len(rows))].any(axis=1).all():
            raise InvalidParameter("state", f"with the noise of {step} steps", "zeros")
        return step, ahead, Key.restored(state["key"], like=self._key), rows

    def _most_ahead(self, step: int) -> int:
        """Rows that can be computed together from a step on."""
        solved = self._recurrence.solved(step, self.steps)
        return 1 if solved is None else len(solved)

    def _edges(self) -> tuple[int, ...]:
        return tuple(edge for one in self.coordinates for edge in one)
