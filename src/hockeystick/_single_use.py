"""SingleUse: what draws secret numbers does so in one process, and has no copies."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from hockeystick._process import OwnProcess, Uncopied
from hockeystick.errors import HockeystickError, PlanMismatch

__all__ = ["SingleUse"]


class SingleUse(Uncopied):
    """An object that hands out batches or noise, each of them once.

    A fork, `copy` and `pickle` make a second object that would hand out the same batches or the
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
