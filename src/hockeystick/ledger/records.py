"""Everything that a ledger knows, for reports: budgets and their entries."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from hockeystick.errors import InvalidParameter, LedgerError
from hockeystick.ledger.names import refuse_missing
from hockeystick.ledger.store import from_text

if TYPE_CHECKING:
    import sqlalchemy as sa

    from hockeystick.ledger.heads import Head, Where
    from hockeystick.ledger.locations import Location

__all__ = [
    "BudgetRecord",
    "EntryRecord",
    "guarantee_of",
    "guarantee_text",
    "read_damaged",
    "read_ledger",
]

ASYMPTOTIC = (
    "This filter is asymptotic: its budget is not a proven guarantee for a finite number of steps."
)


class EntryRecord(NamedTuple):
    """One reservation, with who made it and when.

    Attributes
    ----------
    number, charge, request, status
        As of an `Entry`.
    reserved_at : datetime.datetime
        When it was reserved.
    committed_at : datetime.datetime or None
        When it was committed.
    host : str
        The machine of the process that reserved it.
    pid : int
        The number of that process.
    """

    number: int
    charge: float
    request: Mapping[str, object]
    status: str
    reserved_at: datetime
    committed_at: datetime | None
    host: str
    pid: int

    @property
    def label(self) -> str:
        """Who spent it, if the request said so."""
        return str(self.request.get("label", ""))


class BudgetRecord(NamedTuple):
    """One budget with its entries, all of the same moment.

    Attributes
    ----------
    name : str
        Of the budget.
    description : Mapping
        Whose budget it is.
    budget, spent : float
        In total, and reserved or committed.
    reservations : int
        How many were made, the cancelled ones included.
    created : datetime.datetime
        When it was opened first.
    entries : sequence of EntryRecord
        In order of reservation.
    damage : sequence of str
        What is wrong with the ledger, in parts of sentences.
    elsewhere : str
        A sentence if the file may be a copy.
    """

    name: str
    description: Mapping[str, object]
    budget: float
    spent: float
    reservations: int
    created: datetime
    entries: Sequence[EntryRecord]
    damage: Sequence[str]
    elsewhere: str

    @property
    def kind(self) -> str:
        """The kind of the filter's guarantee, or nothing if its description has none."""
        return str(self.description.get("kind", ""))

    @property
    def guarantee(self) -> dict[str, float]:
        """What the whole budget stands for: epsilon and delta, or mu; empty if it does not say."""
        return guarantee_of(self.description)

    @property
    def spent_by(self) -> dict[str, float]:
        """What was reserved or committed under each label, the largest sum first."""
        charges: dict[str, list[float]] = {}
        for entry in self.entries:
            if entry.status != "cancelled":
                charges.setdefault(entry.label, []).append(entry.charge)
        sums = {label: math.fsum(parts) for label, parts in charges.items()}
        return dict(sorted(sums.items(), key=lambda one: -one[1]))

    @property
    def warnings(self) -> list[str]:
        """What a reader has to know before trusting the numbers."""
        asymptotic = [ASYMPTOTIC] if self.kind == "asymptotic" else []
        return [*asymptotic, self.elsewhere] if self.elsewhere else asymptotic

    def count(self, status: str) -> int:
        """How many entries have this status."""
        return sum(entry.status == status for entry in self.entries)


def guarantee_of(description: Mapping[str, object]) -> dict[str, float]:
    """What a budget stands for: epsilon and delta, or mu; empty if its description has neither."""
    for names in (("epsilon", "delta"), ("mu",)):
        found = {name: description.get(name) for name in names}
        if all(isinstance(value, (int, float)) for value in found.values()):
            return {name: float(cast(float, value)) for name, value in found.items()}
    return {}


def guarantee_text(guarantee: Mapping[str, float]) -> str:
    """The same in words: "epsilon 2 at delta 1e-05", "mu 1", or nothing."""
    return " at ".join(f"{name} {value:g}" for name, value in guarantee.items())


def read_ledger(where: Where, *, name: str | None = None) -> list[BudgetRecord]:
    """All budgets of a ledger, or the named one; nothing is created or changed.

    A damaged ledger raises `LedgerError`; a copy can be read, and its records say that it is one.
    Cost: linear in the number of entries.

    Parameters
    ----------
    where
        A path or a URL, as for `open_store`.
    name
        Of one budget; all of them by default.

    Returns
    -------
    list of BudgetRecord
        Ordered by name.

    Examples
    --------
    >>> import hockeystick as hs
    >>> f = hs.filters.Gaussian(mu=1.0, ledger="budget.db", name="survey")
    >>> f.request(noise_multiplier=2.0).commit()
    >>> [record.count("committed") for record in hs.ledger.read_ledger("budget.db")]
    [1]
    """
    records = read_damaged(where, name=name)
    for record in records:
        for line in record.damage:
            raise LedgerError(
                f"The ledger is damaged: {line}; `hockeystick ledger audit` says more."
            )
    return records


def read_damaged(
    where: Where, *, name: str | None = None, noted: Head | None = None
) -> list[BudgetRecord]:
    """The same with what is wrong in the records, as far as they can be read at all.

    `noted` is a head of the chain that was kept elsewhere.
    """
    from hockeystick.ledger.connections import reading_only
    from hockeystick.ledger.locations import existing

    target = existing(where)
    with reading_only(target) as connection:
        records = _records(target, connection, noted)
    if name is None:
        return records
    refuse_missing(name, [record.name for record in records], where=target.text)
    return [record for record in records if record.name == name]


def _records(target: Location, connection: sa.Connection, noted: Head | None) -> list[BudgetRecord]:
    from hockeystick.ledger.chain import check_key
    from hockeystick.ledger.schema import FORMAT, budgets, entries
    from hockeystick.ledger.tables import damage_of, format_of, rows_of

    version = format_of(connection, target)
    if version == 0:
        raise InvalidParameter("ledger", "a ledger written by this library", target.text)
    check_key(connection, target, version=version)
    if noted is not None and version != FORMAT:
        raise InvalidParameter("head", "left out for an earlier ledger, which has no chain", noted)
    damage = list(damage_of(connection, target, version=version, noted=noted))
    elsewhere = _elsewhere(target, connection, version) if target.is_file else ""
    found: dict[str, list[Any]] = {}
    for row in connection.execute(rows_of(entries, version)):
        found.setdefault(row.budget, []).append(row)
    rows = connection.execute(rows_of(budgets, version)).all()
    if damage and not rows:
        raise LedgerError(f"The ledger {target.text} is damaged: {damage[0]}.")
    return [_record(row, found.get(row.name, []), damage, elsewhere) for row in rows]


def _elsewhere(target: Location, connection: sa.Connection, version: int) -> str:
    """One sentence if the file may be a copy, or has several names; otherwise nothing."""
    from hockeystick.ledger.locations import Place, check_single, moved
    from hockeystick.ledger.tables import recorded_place

    try:
        check_single(target.path)
    except LedgerError as error:
        return str(error)
    recorded = recorded_place(connection) if version > 1 else Place.of(target.path)
    if recorded is None:
        return f"The ledger {target.text} does not say where it was last used."
    return "" if recorded.is_at(Place.of(target.path)) else moved(target.path, recorded)


def _record(
    row: Any, entries: Sequence[Any], damage: Sequence[str], elsewhere: str
) -> BudgetRecord:
    try:
        return BudgetRecord(
            name=row.name,
            description=from_text(row.description),
            budget=float(row.budget),
            spent=float(row.spent),
            reservations=int(row.reservations),
            created=_moment(row.created),
            entries=[_entry(one) for one in entries],
            damage=damage,
            elsewhere=elsewhere,
        )
    except (TypeError, ValueError, OverflowError) as error:
        raise LedgerError(f"The budget {row.name!r} of the ledger is damaged: {error}.") from error


def _entry(row: Any) -> EntryRecord:
    committed = row.committed_at
    return EntryRecord(
        number=int(row.number),
        charge=float(row.charge),
        request=from_text(row.request),
        status=row.status,
        reserved_at=_moment(row.reserved_at),
        committed_at=None if committed is None else _moment(committed),
        host=row.host,
        pid=int(row.pid),
    )


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"the time {text!r:.60} has no zone")
    return moment
