"""Filters whose state is more than one number: it is replayed from the entries of the ledger.

Every entry says what it changed, so the state is a function of the history, and survives a crash
with it. Charges are positive: two histories of one store with as many reservations and the same sum
of charges are the same, because between them nothing can have been reserved, and a cancellation
lowers the sum. So a decision that was made for a state is written only if both numbers are still
those of the state; otherwise the history is read again, and the decision made anew.
"""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, Generic, NoReturn, TypeVar

from hockeystick import _validate as check
from hockeystick.errors import BudgetExceeded
from hockeystick.fdp.schedule import EqualSteps
from hockeystick.filters.base import Filter
from hockeystick.filters.request import GaussianStep, StepRequest
from hockeystick.ledger.store import Entry, plain_json

__all__ = ["StatefulFilter"]

State = TypeVar("State")


class _Behind(Exception):
    """Somebody has spent, or given back, since the state was read."""


class _UpToDate(Exception):
    """Nobody has reserved or cancelled anything."""


class StatefulFilter(Filter, Generic[State]):
    """A filter that decides by a state of its own, and keeps it in the requests of its entries.

    A subclass has `_start`, `_apply` and `_decision`. Cost: that of the decision; where another
    process has spent in between, or a permit was cancelled, also that of reading the history.
    """

    # `_decision` refuses in its own words; what is expected may be ranges.
    _refusal_names_expected = False

    def __init__(self, **opened: Any) -> None:
        super().__init__(**opened)
        self._lock = threading.RLock()
        self._catch_up()

    @abstractmethod
    def _start(self) -> State:
        """The state before the first request."""

    @abstractmethod
    def _apply(self, state: State, entry: Entry) -> None:
        """Change the state by what an entry says; a cancelled one has given back what it took."""

    @abstractmethod
    def _decision(
        self, state: State, request: StepRequest, left: float
    ) -> tuple[float, Mapping[str, object]]:
        """The charge, positive and at most `left`, and the entry's request; or `BudgetExceeded`."""

    def rounds(self, expected: Sequence[EqualSteps]) -> int:
        """How many rounds of these steps a new filter permits, by requesting more and more."""
        state, found, chunk, growing = self._start(), 0, 1, True
        while chunk:
            after = self._after_rounds(state, expected, chunk)
            if after is None:
                growing = False
            else:
                state, found = after, found + chunk
            chunk = 2 * chunk if growing else chunk // 2
        return found

    def _after_rounds(
        self, state: State, expected: Sequence[EqualSteps], rounds: int
    ) -> State | None:
        """The state after so many rounds; None if they do not fit."""
        trial = deepcopy(state)
        for rate, noise, steps in expected:
            # More steps than that cannot be requested.
            if rounds * steps > check.LARGEST_COUNT:
                return None
            request = StepRequest(GaussianStep(rate, noise), None, rounds * steps, clip=False)
            try:
                charge, found = self._decision(trial, request, self._budget)
            except BudgetExceeded:
                return None
            self._apply(trial, Entry(1, charge, plain_json(found), "committed"))
        return trial

    def _catch_up(self) -> None:
        """Read the whole history again."""
        state, spent, last = self._start(), 0.0, 0
        for entry in self._store.history():
            self._apply(state, entry)
            last = entry.number
            # Multiples of the last place of the budget: the sum is exact.
            spent += entry.charge if entry.status != "cancelled" else 0.0
        self._state, self._seen = state, (spent, last)

    def _refresh(self) -> None:
        """Read the history again if anybody has reserved, or given back, since it was read.

        What is spent does not tell alone: one request that is cancelled and another one that is
        made may leave it as it was.
        """

        def compare(spent: float, reservations: int) -> NoReturn:
            raise _Behind if (spent, reservations) != self._seen else _UpToDate

        try:
            self._store.reserve_numbered(compare)
        except _UpToDate:
            return
        except _Behind:
            self._catch_up()

    def _reserve(self, request: StepRequest) -> Entry:
        with self._lock:
            while True:
                try:
                    return self._reserve_once(request)
                except _Behind:
                    self._catch_up()

    def _reserve_once(self, request: StepRequest) -> Entry:
        spent, last = self._seen
        if self._store.spent() != spent:
            raise _Behind
        decision = self._decision(self._state, request, self._budget - spent)

        def decide(now_spent: float, reservations: int) -> tuple[float, Mapping[str, object]]:
            if (now_spent, reservations) != (spent, last):
                raise _Behind
            return decision

        entry = self._store.reserve_numbered(decide)
        self._apply(self._state, entry)
        self._seen = (spent + entry.charge, entry.number)
        return entry
