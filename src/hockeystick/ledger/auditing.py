"""Whether the entries of a ledger add up, and what they would cost if they were known before."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from hockeystick import _validate as check
from hockeystick.fdp.schedule import MOST_SETTINGS, EqualSteps, merged, recorded_steps
from hockeystick.ledger.heads import Head, Where, parsed_head
from hockeystick.ledger.records import BudgetRecord, EntryRecord, read_damaged
from hockeystick.ledger.spending import epsilon_of_steps

__all__ = ["BudgetAudit", "OpenEntry", "Realised", "audit"]

ROUNDED = "parameters rounded on the safe side"


class OpenEntry(NamedTuple):
    """A reservation that was neither committed nor cancelled; it stays counted.

    Attributes
    ----------
    number, charge, host, pid
        As of an `EntryRecord`.
    age : datetime.timedelta
        Since it was reserved.
    label : str
        Who asked for it, if that was said.
    """

    number: int
    charge: float
    age: timedelta
    host: str
    pid: int
    label: str = ""


class Realised(NamedTuple):
    """Epsilon of the realised steps; a diagnostic, not a guarantee of adaptive choices.

    Attributes
    ----------
    epsilon : float or None
        An upper bound, had the steps been fixed in advance; None if some are not known.
    delta : float
        As given.
    steps : int
        How many.
    note : str
        What a reader has to know.
    """

    epsilon: float | None
    delta: float
    steps: int
    note: str


class BudgetAudit(NamedTuple):
    """What an audit of one budget found; it is sound if there are no problems.

    Attributes
    ----------
    name, description, budget, spent, guarantee, spent_by
        As of a `BudgetRecord`.
    problems, warnings : sequence of str
        In sentences.
    open_entries : sequence of OpenEntry
        Reservations of which the end is not known.
    realised : Realised or None
        With a delta: epsilon of the steps, had they been fixed in advance.
    """

    name: str
    description: Mapping[str, object]
    budget: float
    spent: float
    problems: Sequence[str]
    warnings: Sequence[str]
    open_entries: Sequence[OpenEntry]
    realised: Realised | None
    guarantee: Mapping[str, float]
    spent_by: Mapping[str, float]


def audit(
    where: Where,
    *,
    name: str | None = None,
    delta: float | None = None,
    head: str | Head | None = None,
) -> list[BudgetAudit]:
    """Check every budget of a ledger, or the named one.

    The chain must be whole and say what the rows say, the entries must sum to the running total,
    the total must be within the budget, and the numbers must have no gaps.

    Parameters
    ----------
    where
        A path or a URL, or a `Ledger`, as for `open_store`.
    name
        Of one budget; all of them by default.
    delta
        With a delta, the steps that were run (or may have been) are also accounted for as if they
        had been fixed beforehand: a diagnostic, because filters exist for steps that were not.
    head
        What `head` returned earlier: the chain must have gone on from there.

    Returns
    -------
    list of BudgetAudit
        One for each budget.

    Examples
    --------
    >>> import hockeystick as hs
    >>> f = hs.filters.Gaussian(mu=1.0, ledger="budget.db", name="survey")
    >>> f.request(noise_multiplier=2.0).commit()
    >>> (found,) = hs.ledger.audit("budget.db", delta=1e-5)
    >>> found.problems, round(found.realised.epsilon, 2)
    ([], 1.99)
    """
    if delta is not None:
        delta = check.small_probability("delta", delta)
    noted = None if head is None else parsed_head(head)
    return [_audit(record, delta) for record in read_damaged(where, name=name, noted=noted)]


def _audit(record: BudgetRecord, delta: float | None) -> BudgetAudit:
    now = datetime.now(UTC)
    return BudgetAudit(
        name=record.name,
        description=record.description,
        budget=record.budget,
        spent=record.spent,
        problems=list(_problems(record)),
        warnings=[line for line in record.warnings if line != record.elsewhere],
        open_entries=[
            OpenEntry(
                entry.number,
                entry.charge,
                now - entry.reserved_at,
                entry.host,
                entry.pid,
                entry.label,
            )
            for entry in record.entries
            if entry.status == "reserved"
        ],
        realised=None if delta is None else _realised(_counted(record), delta=delta),
        guarantee=record.guarantee,
        spent_by=record.spent_by,
    )


def _counted(record: BudgetRecord) -> list[EntryRecord]:
    return [entry for entry in record.entries if entry.status != "cancelled"]


def _problems(record: BudgetRecord) -> Iterator[str]:
    for line in record.damage:
        yield f"The ledger is damaged: {line}."
    if record.elsewhere:
        yield record.elsewhere
    total = math.fsum(entry.charge for entry in _counted(record))
    if total != record.spent:
        yield f"The entries sum to {total!r}, but the running total is {record.spent!r}."
    if not max(total, record.spent) <= record.budget:
        yield f"{max(total, record.spent)!r} was spent of a budget of {record.budget!r}."
    if [entry.number for entry in record.entries] != list(range(1, record.reservations + 1)):
        yield (
            f"The numbers of the {len(record.entries)} entries are not 1 to {record.reservations}."
        )
    for entry in record.entries:
        if not 0 <= entry.charge <= record.budget:
            yield f"Entry {entry.number} has the charge {entry.charge!r}."
        if (entry.status == "committed") != (entry.committed_at is not None):
            yield f"Entry {entry.number} is {entry.status}, but its time of commitment says else."


def _realised(entries: Sequence[EntryRecord], *, delta: float) -> Realised:
    """An upper bound on epsilon for these steps, Poisson-sampled Gaussians in any order.

    Valid if their parameters did not depend on outputs. The larger of both directions.
    """
    recorded: list[EqualSteps] = []
    for entry in entries:
        found = recorded_steps(entry.request)
        if found is None:
            note = f"entry {entry.number} has no rate and noise multiplier"
            return Realised(None, delta, len(entries), note)
        recorded.append(found)
    if not recorded:
        return Realised(0.0, delta, 0, "nothing was spent")
    schedule = merged(recorded)
    note = ROUNDED if len(schedule) > MOST_SETTINGS else ""
    steps = sum(part.steps for part in schedule)
    return Realised(epsilon_of_steps(schedule, delta=delta), delta, steps, note)
