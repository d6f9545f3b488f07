"""What a request takes from each menu, which menus end with it, and what is exchanged for it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hockeystick.filters.residual.composition import StepClass
from hockeystick.filters.residual.menus import (
    MenuState,
    Payment,
    least_noise,
    paid,
    taken_back,
)
from hockeystick.filters.residual.search.evenly import SETTINGS
from hockeystick.filters.residual.search.exchange import (
    copies_for,
    exchange_for_less,
    exchange_for_mechanism,
    exchange_for_more,
)
from hockeystick.profile.expressions import Expression

__all__ = ["Changes", "Menus", "applied"]


@dataclass
class Changes:
    """What a request changes in the menus, by their numbers."""

    taken: dict[int, Payment] = field(default_factory=dict)
    given: dict[int, Payment] = field(default_factory=dict)
    got: dict[int, Payment] = field(default_factory=dict)
    ended: list[int] = field(default_factory=list)
    # Units of slack that exchanges take.
    units: int = 0

    def as_json(self) -> dict[str, object]:
        """As the entry of the ledger keeps it."""
        values: dict[str, object] = {}
        for name in ("taken", "given", "got"):
            payments: dict[int, Payment] = getattr(self, name)
            if payments:
                values[name] = {
                    str(k): [[*one, count] for one, count in payment.items()]
                    for k, payment in payments.items()
                }
        if self.ended:
            values["ended"] = self.ended
        if self.units:
            values["units"] = self.units
        return values


def applied(states: Sequence[MenuState], request: Mapping[str, Any], *, cancelled: bool) -> None:
    """Change the menus by what an entry says.

    An exchange stays when its request is cancelled, and so does the end of a menu: both only make
    the residual smaller.
    """
    for k in request.get("ended", ()):
        states[int(k)].ended = True
    for k, rows in request.get("given", {}).items():
        states[int(k)].change(taken_back(rows), -1)
    for state in states:
        state.exchanges -= int(request.get("units", 0))
    for k, rows in request.get("got", {}).items():
        states[int(k)].change(taken_back(rows), +1)
    if not cancelled:
        for k, rows in request.get("taken", {}).items():
            states[int(k)].change(taken_back(rows), -1)


class Menus:
    """The decisions for one filter.

    `slack` is what a unit of exchanges may add to delta; there are `exchanges` of them in all.

    What it remembers only decides which exchanges are tried.
    """

    def __init__(self, *, slack: float, exchanges: int = 1) -> None:
        self._slack = slack
        # Units that the comparison of whole menus takes.
        self._whole = max(exchanges // SETTINGS.wholes, 1)
        # Exchanges that were not to be had: the variance that the menu had then.
        self._failed: dict[tuple[int, StepClass], float] = {}
        # Exchanges so far for each kind of steps; equal requests one after the other.
        self._done: dict[tuple[int, StepClass], int] = {}
        self._latest: tuple[StepClass | None, int] = (None, 0)

    def for_steps(
        self, states: Sequence[MenuState], wanted: StepClass, steps: int, *, clip: bool
    ) -> Changes | None:
        """What the steps take; None if no menu can pay for them.

        Every menu that is left pays. The first of them exchanges where it has no steps like these;
        the others only for requests that come again and again, or if nobody could pay otherwise.
        Menus that cannot pay end. An exception among expected steps that may be clipped is not
        paid for either: copies would soon use up the strong end of a menu.
        """
        kind, times = self._latest
        self._latest = (wanted, times + 1 if kind == wanted else 1)
        alive = [k for k, state in enumerate(states) if not state.ended]
        changes = Changes()
        for k in alive:
            payment = paid(states[k], wanted, steps)
            if payment is not None:
                changes.taken[k] = payment
        if clip and not changes.taken and self._is_exception(states, alive, wanted, steps):
            return None
        for k in alive:
            if changes.units:
                # One at a time: the number of exchanges is that of all menus together.
                break
            first = k == alive[0] or self._latest[1] >= SETTINGS.streak
            wasteful = self._is_wasteful(states[k], k, wanted, steps, changes)
            if (first and wasteful) or not changes.taken:
                self._exchange(states[k], k, wanted, steps, changes)
        changes.ended = [k for k in alive if k not in changes.taken]
        return changes if changes.taken else None

    def for_mechanism(
        self, states: Sequence[MenuState], mechanism: Expression, steps: int
    ) -> Changes | None:
        """What runs of another mechanism take; the first menu that can pays, the others end."""
        alive = [k for k, state in enumerate(states) if not state.ended]
        for k in alive:
            units = min(self._whole, states[k].exchanges)
            if units <= 0:
                continue
            given = exchange_for_mechanism(
                states[k].counts, mechanism, steps, slack=self._slack * units
            )
            if given is not None:
                # Taken, so that a cancellation gives it back; the slack stays used.
                ended = [one for one in alive if one != k]
                return Changes(taken={k: given}, ended=ended, units=units)
        return None

    def _is_exception(
        self, states: Sequence[MenuState], alive: Sequence[int], wanted: StepClass, steps: int
    ) -> bool:
        """Whether the steps were expected, but for rounding, and what is left is a little weaker.

        And they are not the same again and again.
        """
        nearly = StepClass(wanted.rate, SETTINGS.nearly * wanted.noise)
        expected = any(one.serves(*nearly) for k in alive for one in states[k].counts)
        left = [least_noise(states[k], *wanted, steps) for k in alive]
        near = any(one and one <= SETTINGS.shortened * wanted.noise for one in left)
        return expected and near and self._latest[1] < SETTINGS.streak

    def _is_wasteful(
        self, state: MenuState, k: int, wanted: StepClass, steps: int, changes: Changes
    ) -> bool:
        """Whether the menu pays much more than the steps are worth, or cannot pay at all.

        A menu for steps of one other kind, which cannot pay, is left to end. The weakest steps of a
        menu serve weaker ones: an exchange would take more than that.
        """
        payment = changes.taken.get(k)
        if payment is None:
            return k == 0
        spent = sum(one.variance * count for one, count in payment.items())
        mean = state.variance / max(sum(state.counts.values()), 1)
        return spent > max(SETTINGS.waste * wanted.variance, SETTINGS.cheap * mean) * steps

    def _exchange(
        self, state: MenuState, k: int, wanted: StepClass, steps: int, changes: Changes
    ) -> None:
        """Exchange a part of the menu for steps of the wanted kind, if that can be had.

        More of it when the same is wanted again.
        """
        kind, variance = StepClass.of(*wanted), state.variance
        if k not in changes.taken and state.exchanges > 0:
            few = copies_for(state.counts, kind, steps, slack=self._slack)
            if few is not None:
                changes.taken[k], changes.units = few, 1
                return
        retry_below = (1 - SETTINGS.retry) * self._failed.get((k, kind), math.inf)
        units = min(self._whole, state.exchanges)
        if units <= 0 or variance > retry_below:
            return
        slack = self._slack * units
        done = self._done.get((k, kind), 0)
        missing = max(steps - state.counts.get(kind, 0), 1)
        if k in changes.taken:
            part = min(SETTINGS.first_part * 2**done, 1.0)
            found = exchange_for_less(state.counts, kind, missing, slack=slack, part=part)
        else:
            several = math.ceil(SETTINGS.at_once * sum(state.counts.values()))
            number = max(missing * 2**done, several)
            found = exchange_for_more(state.counts, kind, number, slack=slack, most=SETTINGS.waste)
            if found is None:
                found = exchange_for_more(state.counts, kind, missing, slack=slack)
        after = MenuState(state.counts, 0)
        if found is not None:
            after.change(found[0], -1)
            after.change({kind: found[1]}, +1)
        payment = None if found is None else paid(after, wanted, steps)
        if found is None or payment is None:
            self._failed[k, kind] = variance
            return
        self._done[k, kind] = done + 1
        changes.given[k], changes.got[k] = found[0], {kind: found[1]}
        changes.taken[k], changes.units = payment, units
