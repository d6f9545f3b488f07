"""The permission to run one step."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import TracebackType
from typing import ClassVar

from hockeystick import _validate as check
from hockeystick._process import Uncopied
from hockeystick.errors import HockeystickError
from hockeystick.ledger.store import Store

__all__ = ["Permit"]


@dataclass(frozen=True)
class Permit(Uncopied):
    """A reservation: its charge counts from now on.

    The step may run with no contribution longer than `sensitivity * clip_scale` times the clip norm
    (see `clip_norm`), and noise of `noise_multiplier` times the clip norm itself. Afterwards
    `commit()`; if the mechanism did not run, `cancel()` gives the charge back, in the process that
    asked for it and in no other. As a context manager it commits on success, unless it was
    cancelled inside; after an exception the charge stays, because outputs may have been seen. It is
    entered once, and not after it was committed or cancelled: another step needs another permit.
    """

    what: ClassVar[str] = "A permit"
    instead: ClassVar[str] = "ask the filter for another one"

    number: int
    charge: float
    clip_scale: float
    steps: int
    rate: float | None
    noise_multiplier: float | None
    sensitivity: float | None
    store: Store = field(repr=False, compare=False)
    _cancelled: bool = field(default=False, init=False, repr=False, compare=False)
    _used: bool = field(default=False, init=False, repr=False, compare=False)

    @property
    def effective_noise_multiplier(self) -> float | None:
        """Noise over the largest contribution that is left after clipping."""
        if self.noise_multiplier is None or self.sensitivity is None:
            return None
        return self.noise_multiplier / (self.sensitivity * self.clip_scale)

    def clip_norm(self, unscaled: float) -> float:
        """The longest contribution that may join the step, for the run's own clip norm."""
        unscaled = check.positive("unscaled", unscaled)
        return unscaled * (1.0 if self.sensitivity is None else self.sensitivity) * self.clip_scale

    def commit(self) -> None:
        """The step has run."""
        object.__setattr__(self, "_used", True)
        self.store.commit(self.number)

    def cancel(self) -> None:
        """The step did not run, and nothing about it was seen: the charge is given back."""
        self.store.cancel(self.number)
        object.__setattr__(self, "_cancelled", True)
        object.__setattr__(self, "_used", True)

    def __enter__(self) -> Permit:
        if self._used:
            raise HockeystickError(
                f"The permit {self.number} was used, and is for one step: {self.instead}."
            )
        object.__setattr__(self, "_used", True)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None and not self._cancelled:
            self.commit()
