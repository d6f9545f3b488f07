"""Which process an object belongs to: after a fork there is a copy of it."""

from __future__ import annotations

import os

from hockeystick.errors import HockeystickError

__all__ = ["OwnProcess"]


class OwnProcess:
    """The process that made an object; `check` refuses its copies in other processes.

    A fork copies budgets, noise and generators: two processes would then spend the same budget or
    draw the same noise. A pickled or copied object belongs to the same process as the original.
    """

    __slots__ = ("pid",)

    def __init__(self) -> None:
        self.pid = os.getpid()

    @property
    def is_here(self) -> bool:
        """Whether this is the process."""
        return os.getpid() == self.pid

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
