"""What a store of spending has to do, and the one that lives in memory.

Charges are rounded up to multiples of the last place of the budget, ulp(budget). All sums up to
the budget, and all differences from it, are then exact in double precision, in any order. A charge
grows by less than 2^-52 of the budget: a hundred thousand of them by less than 3e-11.
"""

from __future__ import annotations

import json
import math
import operator
import secrets
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar, NamedTuple, Protocol

from hockeystick import _validate as check
from hockeystick._process import OwnProcess, Uncopied
from hockeystick._text import strict_json
from hockeystick.errors import BudgetExceeded, HockeystickError, InvalidParameter, LedgerError

__all__ = [
    "BUDGET_DIGITS",
    "Decision",
    "Entry",
    "MemoryStore",
    "NumberedDecision",
    "Store",
    "admit",
    "as_text",
    "checked_budget",
    "checked_number",
    "from_text",
    "must_change",
    "now",
    "plain_json",
    "rounded_up",
]

# Of the number of a budget, hexadecimal.
BUDGET_DIGITS = 32
_IN_MEMORY = "A budget that is kept in memory"
_SHARED = "a filter that is given a ledger can be shared"
Decision = Callable[[float], tuple[float, Mapping[str, object]]]
NumberedDecision = Callable[[float, int], tuple[float, Mapping[str, object]]]


class Entry(NamedTuple):
    """One reservation.

    Attributes
    ----------
    number : int
        1, 2, ... in order of reservation.
    charge : float
        In the unit of the budget, rounded up to a multiple of its last place.
    request : Mapping
        What was requested, as plain JSON values.
    status : str
        "reserved", "committed" or "cancelled".
    """

    number: int
    charge: float
    request: Mapping[str, object]
    status: str


class Store(Protocol):
    """Where the spending of one budget is kept; `MemoryStore` and what `open_store` opens are ones.

    Attributes
    ----------
    reserve, reserve_numbered, commit, cancel
        Change the spending.
    spent, history
        Say what it is.
    identity
        Tells the budget from all others.
    """

    def reserve(self, decide: Decision) -> Entry:
        """A new entry, counted from now on.

        Atomically: `decide(spent)` gives (charge, request) or raises, then spent + charge <= budget
        is checked again here and `BudgetExceeded` is raised if it fails. Others wait while
        `decide` runs, so what takes long is computed before.
        """

    def reserve_numbered(self, decide: NumberedDecision) -> Entry:
        """As `reserve`, with `decide(spent, reservations)`.

        Charges are positive, so the two numbers together say whether anything was reserved or
        cancelled since they were seen.
        """

    def commit(self, number: int) -> None:
        """Mark the entry as run. Again is harmless; after a cancellation it is refused."""

    def cancel(self, number: int) -> None:
        """Give the charge back. Only valid if the mechanism did not run; refused after commit.

        Only who reserved it may: nobody else can know that it is not running just now.
        """

    def spent(self) -> float:
        """Everything reserved and committed."""

    def identity(self) -> str:
        """32 hexadecimal digits that no other budget has, wherever it is opened."""

    def history(self) -> Sequence[Entry]:
        """All entries in order of reservation, the cancelled ones included."""


class MemoryStore(Uncopied):
    """The store that is gone when the process ends; safe for threads, not for processes.

    A child process has a copy, and would spend the budget once more: it is refused.
    Every charge is rounded up to a multiple of the budget's last place, so that all sums are exact.
    Cost: O(1) per call, except for `history`.

    Parameters
    ----------
    budget
        What may be spent in total.

    Examples
    --------
    >>> import hockeystick as hs
    >>> store = hs.ledger.MemoryStore(1.0)
    >>> entry = store.reserve(lambda spent: (0.25, {"rate": 0.01}))
    >>> store.commit(entry.number)
    >>> store.spent(), store.history()[0].status
    (0.25, 'committed')
    """

    what: ClassVar[str] = _IN_MEMORY
    instead: ClassVar[str] = _SHARED
    refused_as: ClassVar[type[HockeystickError]] = LedgerError

    def __init__(self, budget: float) -> None:
        self.budget = checked_budget(budget)
        self._owner = OwnProcess()
        self._identity = secrets.token_hex(BUDGET_DIGITS // 2)
        self._spent = 0.0
        self._entries: list[Entry] = []
        self._lock = threading.RLock()

    def reserve(self, decide: Decision) -> Entry:
        """A new entry, counted from now on."""
        return self.reserve_numbered(lambda spent, _: decide(spent))

    def reserve_numbered(self, decide: NumberedDecision) -> Entry:
        """A new entry, for a decision that also depends on how many there are."""
        self._owner.check(_IN_MEMORY, instead=_SHARED, error=LedgerError)
        with self._lock:
            wanted, request = decide(self._spent, len(self._entries))
            charge = admit(wanted, spent=self._spent, budget=self.budget)
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

    def identity(self) -> str:
        """A random number."""
        return self._identity

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


def checked_budget(budget: float) -> float:
    """A budget: finite, positive and not so small that numbers lose digits."""
    budget = check.positive("budget", budget)
    if budget < sys.float_info.min / sys.float_info.epsilon:
        raise InvalidParameter("budget", "a finite number > 1e-291", budget)
    return budget


def rounded_up(charge: float, *, budget: float) -> float:
    """The smallest multiple of ulp(budget) that is not below the charge, for a finite budget.

    Dividing by a power of two is exact, apart from underflow to zero, which the comparison catches.
    """
    place = math.ulp(budget)
    multiple = math.ceil(charge / place)
    return max(multiple, 1 if charge > 0 else 0) * place


def admit(charge: float, *, spent: float, budget: float) -> float:
    """The charge, rounded up, if it still fits into the budget; `BudgetExceeded` otherwise."""
    charge = check.real("charge", charge, "a number >= 0")
    if charge < 0:
        raise InvalidParameter("charge", "a number >= 0", charge)
    # Both sides are multiples of ulp(budget): the difference and the comparison are exact.
    left = budget - spent
    if charge <= left:
        return rounded_up(charge, budget=budget)
    raise BudgetExceeded(
        f"The request costs {charge:.6g}, but only {left:.6g} of the budget {budget:.6g} is left; "
        "a smaller one may fit.",
        page="docs/stopping.md#when-the-budget-is-used-up",
    )


def as_text(values: Mapping[str, object], *, name: str = "request") -> str:
    """The values as JSON text with sorted keys; what could not be read again is refused."""
    try:
        text = json.dumps(dict(values), allow_nan=False, sort_keys=True)
        strict_json(text, several_lines=True)
    except (TypeError, ValueError, RecursionError):
        allowed = (
            "a mapping of different names to finite numbers, text without control characters, "
            "lists and mappings"
        )
        raise InvalidParameter(name, allowed, values) from None
    return text


def from_text(text: str) -> Mapping[str, object]:
    """What `as_text` wrote; nothing else has a name twice, or numbers that are not finite.

    The description of a mechanism may have several lines; whoever prints it escapes them.
    """
    try:
        values = strict_json(text, several_lines=True)
    except (TypeError, ValueError):
        values = None
    if not isinstance(values, dict):
        raise LedgerError(f"The ledger is damaged: {text!r:.80} is not a JSON object.")
    return values


def plain_json(values: Mapping[str, object]) -> Mapping[str, object]:
    """A copy of the values that is the same in memory as read from a file."""
    return from_text(as_text(values))


def now() -> str:
    """The moment, as ISO 8601 in UTC."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


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
