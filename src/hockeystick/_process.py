"""Objects that belong to one process and cannot be copied: budgets, batches, noise."""

from __future__ import annotations

import os
import secrets
from typing import Any, ClassVar, NoReturn, Self

from hockeystick.errors import HockeystickError, PlanMismatch, shown

__all__ = ["OwnProcess", "SetOnce", "SingleUse", "Uncopied", "refuse_setting"]

# 128 random bits: two processes never have the same.
TOKEN_BYTES = 16
# What `run.set` of a run with a filter takes.
CHANGEABLE = ("noise_multiplier", "rate", "max_grad_norm")


class _Here:
    """A number of this process alone: two processes may have one pid, in different namespaces."""

    token = secrets.token_bytes(TOKEN_BYTES)

    @classmethod
    def renew(cls) -> None:
        """After a fork, in the child."""
        cls.token = secrets.token_bytes(TOKEN_BYTES)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_Here.renew)


class OwnProcess:
    """The process that made an object; `check` refuses its copies in other processes.

    A fork copies budgets, noise and generators: two processes would then spend the same budget or
    draw the same noise. A pickled or copied object belongs to the same process as the original.
    """

    __slots__ = ("_token", "pid")

    def __init__(self) -> None:
        self.pid = os.getpid()
        self._token = _Here.token

    @property
    def is_here(self) -> bool:
        """Whether this is the process."""
        return os.getpid() == self.pid and self._token == _Here.token

    def check(
        self,
        what: str,
        *,
        instead: str = "make a new one in this process",
        error: type[HockeystickError] = HockeystickError,
    ) -> None:
        """Nothing in the process that made `what`; one sentence that names it in every other."""
        if not self.is_here:
            raise error(
                f"{what} belongs to process {self.pid}, and process {os.getpid()} has a copy of "
                f"it: {instead}."
            )


class Uncopied:
    """An object that cannot be copied or pickled: both would be used, and counted once."""

    what: ClassVar[str]
    """What error messages call the object, such as "The noise stream"."""
    because: ClassVar[str] = "the copy would spend the same budget once more"
    instead: ClassVar[str] = "make a new one"
    """What to do in the place of copying it."""
    refused_as: ClassVar[type[HockeystickError]] = HockeystickError

    def __reduce_ex__(self, _: Any) -> NoReturn:
        """Called by `copy`, `deepcopy` and `pickle`."""
        self.refuse_copy()

    def refuse_copy(self) -> NoReturn:
        """One sentence that says what to do instead."""
        raise self.refused_as(
            f"{self.what} cannot be copied or pickled, because {self.because}: {self.instead}."
        )


def refuse_setting(run: object, name: str, value: object) -> NoReturn:
    """`PlanMismatch` for an assignment to something that belongs to a private run."""
    if not hasattr(run, name):
        raise PlanMismatch(f"A private run has no setting {name}; nothing in it can be set.")
    instead, page = "the next phase is another run", "docs/stopping.md#two-phases"
    if name.lstrip("_") in CHANGEABLE:
        instead += f", and with a filter run.set({name.lstrip('_')}=...) changes it between steps"
        page = "docs/adapting.md"
    raise PlanMismatch(
        f"{name.lstrip('_')} cannot change during a run: what was accounted is "
        f"{shown(getattr(run, name))}, got {shown(value)}; {instead}.",
        page=page,
    )


class SetOnce(Uncopied):
    """An object whose public attributes are set once, when it is made: claims depend on them."""

    def __setattr__(self, name: str, value: Any) -> None:
        """`PlanMismatch` for a public attribute that there is already."""
        if not name.startswith("_") and hasattr(self, name):
            raise PlanMismatch(f"{self._fixed(name)}, got {shown(value)}: make another one.")
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        """`PlanMismatch` for a public attribute: it could be set again afterwards."""
        if not name.startswith("_") and hasattr(self, name):
            raise PlanMismatch(f"{self._fixed(name)}.")
        object.__delattr__(self, name)

    def _fixed(self, name: str) -> str:
        what = self.what[0].lower() + self.what[1:]
        return f"{name} of {what} cannot change: it is {shown(getattr(self, name))}"


class SingleUse(Uncopied):
    """An object that draws batches or noise, each of them once.

    A fork, `copy` and `pickle` make a second object that would draw the same batches or the
    same noise, and two releases with one noise are not what was accounted. `check_here` refuses
    every process but the one that made the object; copying and pickling are refused altogether.
    """

    because: ClassVar[str] = "the copy would draw the same numbers"
    refused_as: ClassVar[type[HockeystickError]] = PlanMismatch
    _maker: OwnProcess

    def __new__(cls, *_: Any, **__: Any) -> Self:
        """Remember the process; subclasses have initialisers of their own."""
        made = super().__new__(cls)
        object.__setattr__(made, "_maker", OwnProcess())
        return made

    def check_here(self) -> None:
        """`PlanMismatch` in any process but the one that made the object."""
        self._maker.check(self.what, error=PlanMismatch)
