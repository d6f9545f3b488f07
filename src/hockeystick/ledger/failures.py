"""What goes wrong with files and databases, in one sentence."""

from __future__ import annotations

from hockeystick.errors import HockeystickError

__all__ = ["LedgerError"]


class LedgerError(HockeystickError):
    """A ledger cannot be read or written; the message says which one and why."""
