"""Requests to a filter: what is expected, what is requested, and the permission that it gives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, ClassVar, SupportsFloat, cast

from hockeystick import _validate as check
from hockeystick._process import Uncopied
from hockeystick.errors import HockeystickError, InvalidParameter
from hockeystick.fdp.schedule import EqualSteps
from hockeystick.ledger.names import checked_text
from hockeystick.ledger.store import Store
from hockeystick.profile import Profile

__all__ = [
    "Expected",
    "GaussianStep",
    "Permit",
    "StepRequest",
    "as_number",
    "checked_expected",
    "checked_request",
    "expected_rows",
    "kept",
    "request_of",
]

# Requests that are expected, as (rate, noise_multiplier, steps).
Expected = Iterable[tuple[float, float, int]]


@dataclass(frozen=True)
class GaussianStep:
    """One Gaussian step on a Poisson sample: each example takes part with probability `rate`.

    Attributes
    ----------
    rate : float
        Probability with which each example takes part.
    noise_multiplier : float
        Standard deviation of the noise over the clip norm.
    sensitivity : float
        The largest contribution of an example, in units of the clip norm.
    """

    rate: float
    noise_multiplier: float
    sensitivity: float = 1.0

    @property
    def mu(self) -> float:
        """The contribution in units of the noise."""
        return self.sensitivity / self.noise_multiplier

    @property
    def square(self) -> float:
        """mu^2; infinite, rather than an error, where it overflows."""
        return self.mu * self.mu

    def clipped(self, clip_scale: float) -> GaussianStep:
        """The same step with contributions clipped further."""
        return replace(self, sensitivity=self.sensitivity * clip_scale)


@dataclass(frozen=True)
class StepRequest:
    """A checked request: `steps` runs of one mechanism, a Gaussian step or a profile."""

    step: GaussianStep | None
    profile: Profile | None
    steps: int
    clip: bool
    label: str = ""
    note: Mapping[str, object] | None = None

    def as_json(self, clip_scale: float) -> Mapping[str, object]:
        """The request as the ledger keeps it."""
        values: dict[str, object] = {"steps": self.steps, "clip_scale": clip_scale}
        if self.label:
            values["label"] = self.label
        if self.note is not None:
            values["note"] = dict(self.note)
        if self.step is not None:
            return {**vars(self.step), **values}
        return {"profile": repr(self.profile), **values}


def checked_request(
    *,
    rate: Any,
    noise_multiplier: Any,
    sensitivity: Any,
    steps: Any,
    profile: Any,
    clip: Any,
    label: Any = "",
    note: Any = None,
) -> StepRequest:
    """The request, if it is one: either a noise multiplier or a profile, never both."""
    steps, clip = check.positive_integer("steps", steps), check.boolean("clip", clip)
    label = checked_text("label", label) if label != "" else ""
    if not (note is None or isinstance(note, Mapping)):
        raise InvalidParameter("note", "a mapping of names to plain values, or None", note)
    if (noise_multiplier is None) == (profile is None):
        raise InvalidParameter(
            "noise_multiplier, profile", "exactly one of the two", (noise_multiplier, profile)
        )
    rate = check.sampling_rate("rate", rate)
    sensitivity = check.positive("sensitivity", sensitivity)
    if profile is None:
        noise_multiplier = check.positive("noise_multiplier", noise_multiplier)
        step = GaussianStep(rate, noise_multiplier, sensitivity)
        return StepRequest(step, None, steps, clip, label, note)
    if (rate, sensitivity) != (1.0, 1.0):
        raise InvalidParameter(
            "rate, sensitivity", "left out where a profile is given", (rate, sensitivity)
        )
    if not isinstance(profile, Profile) or profile.bound != "upper":
        raise InvalidParameter("profile", "a profile with bound='upper'", profile)
    return StepRequest(None, profile, steps, clip, label, note)


def request_of(recorded: Mapping[str, object], status: str) -> StepRequest:
    """The request of Gaussian steps that an entry has, unless it was cancelled."""
    names = ("rate", "noise_multiplier", "sensitivity", "steps")
    if status == "cancelled" or any(name not in recorded for name in names):
        raise InvalidParameter("entry", "one of Gaussian steps, not cancelled", dict(recorded))
    return checked_request(**{name: recorded[name] for name in names}, profile=None, clip=True)


def checked_expected(expected: Any) -> tuple[EqualSteps, ...]:
    """The expected requests, one or more; full batches if nothing is said."""
    allowed = "a list of (rate, noise_multiplier, steps), such as [(0.01, 1.0, 500)]"
    if expected is None:
        return (EqualSteps(rate=1.0, noise_multiplier=1.0, steps=1),)
    return tuple(
        EqualSteps(
            check.sampling_rate("rate in expected", rate),
            check.positive("noise_multiplier in expected", noise_multiplier),
            check.positive_integer("steps in expected", steps),
        )
        for rate, noise_multiplier, steps in expected_rows(expected, allowed)
    )


def kept(expected: Any) -> Any:
    """What was expected, to be read more than once: an iterator as a list."""
    return list(expected) if isinstance(expected, Iterator) else expected


def expected_rows(expected: Any, allowed: str) -> list[tuple[Any, ...]]:
    """The rows of three in a list of them; what is `allowed` is said in the refusal of others."""
    # Keys, members and characters are no numbers in an order.
    named = str, bytes, Mapping
    try:
        listed = [] if isinstance(expected, named) else list(expected)
        rows = [() if isinstance(row, (*named, Set)) else tuple(row) for row in listed]
    except TypeError:
        rows = []
    if not rows or any(len(row) != 3 for row in rows):
        raise InvalidParameter("expected", allowed, expected)
    return rows


def as_number(value: object) -> float:
    """A number that comes back from the ledger."""
    return float(cast(SupportsFloat, value))


class _Reservation:
    """One entry of a store, and what has become of it in this process."""

    def __init__(self, store: Store, number: int) -> None:
        self._store, self._number = store, number
        self.used = self.cancelled = self.has_permit = False

    def commit(self) -> None:
        self.used = True
        self._store.commit(self._number)

    def cancel(self) -> None:
        self._store.cancel(self._number)
        self.used = self.cancelled = True


@dataclass(frozen=True)
class Permit(Uncopied):
    """The permission for a request: its charge is reserved, and counts from now on.

    The step may run with no contribution longer than `sensitivity * clip_scale` times the clip norm
    (see `clip_norm`), and noise of `noise_multiplier` times the clip norm itself. Afterwards
    `commit()`; if the mechanism did not run, `cancel()` gives the charge back, in the process that
    requested it and in no other. As a context manager it commits on success, unless it was
    cancelled inside; after an exception the charge stays, because outputs may have been seen, until
    the caller cancels. It is entered once, and not after it was committed or cancelled: another
    step needs another permit.

    Attributes
    ----------
    number : int
        The number of the reservation, 1, 2, ...
    charge : float
        What it costs, in the unit of the filter.
    clip_scale : float
        In (0, 1]: by how much contributions are clipped further than the clip norm.
    steps, rate, noise_multiplier, sensitivity
        The request; the last three are None for a profile.

    Examples
    --------
    >>> import hockeystick as hs
    >>> f = hs.filters.Gaussian(mu=1.0)
    >>> with f.request(noise_multiplier=2.0) as permit:
    ...     permit.clip_scale, permit.clip_norm(3.0)
    (1.0, 3.0)
    >>> f.history[0].status
    'committed'
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
    _reservation: _Reservation = field(repr=False, compare=False)

    def __post_init__(self) -> None:
        """`dataclasses.replace` would make a second permit, with another charge or clip scale."""
        if self._reservation.has_permit:
            self.refuse_copy()
        self._reservation.has_permit = True

    @classmethod
    def of(
        cls, request: StepRequest, store: Store, number: int, charge: float, *, clip_scale: float
    ) -> Permit:
        """The permit for a request that is an entry of the store."""
        step = request.step
        return cls(
            number=number,
            charge=charge,
            clip_scale=clip_scale,
            steps=request.steps,
            rate=None if step is None else step.rate,
            noise_multiplier=None if step is None else step.noise_multiplier,
            sensitivity=None if step is None else step.sensitivity,
            _reservation=_Reservation(store, number),
        )

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
        self._reservation.commit()

    def cancel(self) -> None:
        """The charge is given back: the caller states that nothing of the step was released.

        That is so whenever it is called before `commit`, after an exception in the block as well.
        """
        self._reservation.cancel()

    def __enter__(self) -> Permit:
        if self._reservation.used:
            raise HockeystickError(
                f"The permit {self.number} was used, and is for one step: {self.instead}."
            )
        self._reservation.used = True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None and not self._reservation.cancelled:
            self.commit()
