"""What a store of spending promises, and the one that lives in memory."""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol

from hockeystick._process import OwnProcess, Uncopied
from hockeystick.errors import HockeystickError, InvalidParameter, LedgerError
from hockeystick.ledger.amounts import admit, checked_budget
from hockeystick.ledger.requests import plain_json

__all__ = ["Decision", "Entry", "MemoryStore", "Store", "checked_number", "must_change"]

_IN_MEMORY = "A budget that is kept in memory"
_SHARED = "a filter that is given a ledger can be shared"
Decision = Callable[[float], tuple[float, Mapping[str, object]]]


class Entry(NamedTuple):
    """One reservation."""

    number: int  # 1, 2, ... in order of reservation
    charge: float  # in the unit of the budget, rounded up to a multiple of its last place
    request: Mapping[str, object]  # what was asked, as plain JSON values
    status: str  # "reserved", "committed" or "cancelled"


class Store(Protocol):
    """Where the spending of one budget is kept."""

    def reserve(self, decide: Decision) -> Entry:
        """A new entry, counted from now on.

        Atomically: `decide(spent)` gives (charge, request) or raises, then spent + charge <= budget
        is checked again here and `BudgetExceeded` is raised if it fails. Others wait while
        `decide` runs, so what takes long is computed before.
        """

    def commit(self, number: int) -> None:
        """Mark the entry as run. Again is harmless; after a cancellation it is refused."""

    def cancel(self, number: int) -> None:
        """Give the charge back. Only valid if the mechanism did not run; refused after commit.

        Only who reserved it may: nobody else can know that it is not running just now.
        """

    def spent(self) -> float:
        """Everything reserved and committed."""

    def history(self) -> Sequence[Entry]:
        """All entries in order of reservation, the cancelled ones included."""


def checked_number(number: Any, *, last: int) -> int:
    """The number of an entry, as a Python integer from 1 to `last`."""
    try:
        index = operator.index(number)
    except TypeError:
        index = 0
    if not 1 <= index <= last:
        raise InvalidParameter("number", "the number of an entry", number)
    return index


def must_change(number: int, *, status: str, wanted: str) -> bool:
    """Whether an entry has to be written to get the wanted status; impossible changes raise."""
    if status == wanted:
        return False
    if status != "reserved":
        allowed = f"an entry that can still be {wanted} (this one is {status})"
        raise InvalidParameter("number", allowed, number)
    return True


class MemoryStore(Uncopied):
    """The store that is gone when the process ends; safe for threads, not for processes.

    A child process has a copy, and would spend the budget once more: it is refused.
    Every charge is rounded up to a multiple of the budget's last place, so that all sums are exact.
    Cost: O(1) per call, except for `history`.
    """

    what: ClassVar[str] = _IN_MEMORY
    instead: ClassVar[str] = _SHARED
    refused_as: ClassVar[type[HockeystickError]] = LedgerError

    def __init__(self, budget: float) -> None:
        self.budget = checked_budget(budget)
        self._owner = OwnProcess()
        self._spent = 0.0
        self._entries: list[Entry] = []
        self._lock = threading.RLock()

    def reserve(self, decide: Decision) -> Entry:
        """A new entry, counted from now on."""
        self._owner.check(_IN_MEMORY, instead=_SHARED, error=LedgerError)
        with self._lock:
            asked, request = decide(self._spent)
            charge = admit(asked, spent=self._spent, budget=self.budget)
            entry = Entry(len(self._entries) + 1, charge, plain_json(request), "reserved")
            self._entries.append(entry)
            self._spent += charge
            return entry

    def commit(self, number: int) -> None:
        """Mark the entry as run."""
        self._change(number, "committed")

    def cancel(self, number: int) -> None:
        """Give the charge back."""
        self._change(number, "cancelled")

    def spent(self) -> float:
        """Everything reserved and committed."""
        return self._spent

    def history(self) -> Sequence[Entry]:
        """All entries in order of reservation."""
        return tuple(self._entries)

    def _change(self, number: int, wanted: str) -> None:
        self._owner.check(_IN_MEMORY, instead=_SHARED, error=LedgerError)
        with self._lock:
            number = checked_number(number, last=len(self._entries))
            entry = self._entries[number - 1]
            if not must_change(number, status=entry.status, wanted=wanted):
                return
            self._entries[number - 1] = entry._replace(status=wanted)
            if wanted == "cancelled":
                self._spent -= entry.charge
