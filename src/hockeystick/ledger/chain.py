"""The chain of a ledger: a record for everything that changes a row, bound to the one before.

A record holds the digest of the row after the change, and its link is the digest of the record
together with the link before it (with a key, the HMAC of that): an edited, removed, inserted or
moved record breaks every link from there on. If the last ones are removed, the rows are ahead of
the chain. Writing costs the same however long the chain is; `broken_links` follows all of it and
compares it with the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import sqlalchemy as sa

from hockeystick.errors import LedgerError
from hockeystick.ledger import schema
from hockeystick.ledger.heads import START, Head
from hockeystick.ledger.locations import Location
from hockeystick.ledger.schema import (
    ENTRY_VALUES,
    FORMAT,
    budgets,
    chain,
    entries,
    individual,
    ledger,
)
from hockeystick.ledger.seals import (
    digest_of,
    fingerprint,
    intact,
    link_of,
    seal_of,
    text_digest,
    tuple_digest,
    with_checksum,
)

__all__ = [
    "ADOPTED",
    "CANCELLED",
    "CHARGED",
    "COMMITTED",
    "CONVERTED",
    "CREATED",
    "INDIVIDUAL",
    "OPENED",
    "RESERVED",
    "SETTLED",
    "Event",
    "append",
    "begin",
    "broken_links",
    "check_key",
    "head_of",
]

# What happens: the ledger gets its place, a budget is opened, an entry reserved and settled, a
# budget of single examples opened and charged.
CREATED, CONVERTED, ADOPTED = "created", "converted", "adopted"
OPENED, RESERVED, COMMITTED, CANCELLED = "opened", "reserved", "committed", "cancelled"
INDIVIDUAL, CHARGED = "individual", "charged"
# Columns of an entry.
_OF, _NUMBER, _STATUS, _COMMITTED_AT = (
    ENTRY_VALUES.index(name) for name in ("budget", "number", "status", "committed_at")
)
# For SQLite.
_LAST_OF_FILE = f"SELECT position, link FROM {chain.name} ORDER BY position DESC LIMIT 1"
_NAMES = [column.name for column in chain.c]
_ADD_TO_FILE = (
    f"INSERT INTO {chain.name} ({', '.join(_NAMES)}) "
    f"VALUES ({', '.join(f':{name}' for name in _NAMES)})"
)
PLACED, SETTLED = (CREATED, CONVERTED, ADOPTED), (COMMITTED, CANCELLED)


class Event(NamedTuple):
    """One change, and the digest of what it left."""

    event: str
    digest: str
    of: str | None = None
    number: int | None = None


def begin(
    connection: sa.Connection, where: Location, events: Iterable[Event], place: str | None
) -> None:
    """A new chain of these events, in the place of whatever there is."""
    connection.execute(chain.delete())
    head, rows = Head(0, START), []
    for one in events:
        head, row = _next(head, one, where.key)
        rows.append(row)
    if rows:
        connection.execute(schema.ADD_RECORD, rows)
    connection.execute(ledger.delete())
    placed = max((row["position"] for row in rows if row["event"] in PLACED), default=0)
    values = {"format": FORMAT, "place": place, "placed": placed, "key": fingerprint(where.key)}
    connection.execute(ledger.insert(), with_checksum(ledger, values, where.key))


def append(connection: sa.Connection, where: Location, event: Event, *, seen: int = 0) -> int:
    """Add one record; how many there are afterwards. O(1).

    The last thing of a transaction: on a server everybody waits for the end of the chain, in a file
    nobody else writes anyway. `LedgerError` if it has fewer records than were `seen` before.
    """
    driver: Any = None
    if where.is_file:
        # Two statements of every transaction: they take a fifth of the time without a compiler.
        driver = connection.connection.driver_connection
        found = driver.execute(_LAST_OF_FILE).fetchone()
        head = Head(0, START) if found is None else Head(*found)
    else:
        connection.execute(schema.LOCK_LEDGER)
        head = head_of(connection)
    if head.records < seen:
        raise LedgerError(
            f"The ledger {where.text} has forgotten records that were made before, and nothing is "
            "spent from it; was an older copy restored?"
        )
    head, record = _next(head, event, where.key)
    if driver is None:
        connection.execute(schema.ADD_RECORD, record)
    else:
        driver.execute(_ADD_TO_FILE, record)
    return head.records


def _next(head: Head, event: Event, key: bytes | None) -> tuple[Head, dict[str, Any]]:
    position = head.records + 1
    link = link_of(key, previous=head.link, position=position, **event._asdict())
    record = {"position": position, "event": event.event, "budget": event.of}
    record |= {"number": event.number, "digest": event.digest, "link": link}
    return Head(position, link), record


def head_of(connection: sa.Connection) -> Head:
    """The end of the chain, as it is written."""
    found = connection.execute(schema.LAST_RECORD).one_or_none()
    return Head(0, START) if found is None else Head(found.position, found.link)


def check_key(connection: sa.Connection, where: Location, *, version: int) -> None:
    """One sentence if the ledger has another key than the one that is given, or only one has."""
    known = None
    if version == FORMAT:
        known = connection.execute(sa.select(ledger.c.key)).scalar()
    given = fingerprint(where.key)
    if known == given:
        return
    if given is None:
        reason = (
            "is authenticated with a key: give it with hs.ledger.Ledger(where, key=...), or "
            "--key-file on the command line"
        )
    elif known is None:
        reason = (
            "is not authenticated with a key; if its content is to be trusted as it is, run "
            "`hockeystick ledger authenticate` once"
        )
    else:
        reason = "is authenticated with another key"
    raise LedgerError(f"The ledger {where.text} {reason}.")


def broken_links(
    connection: sa.Connection, where: Location, *, noted: Head | None = None
) -> Iterator[str]:
    """What the chain and the rows disagree about, in parts of sentences.

    `noted` is a head that was kept elsewhere: the chain must have had it. Cost: linear.
    """
    row = connection.execute(sa.select(ledger)).one()
    if not intact(ledger, row, where.key):
        yield "where it was last used does not match its checksum"
    replay, link = _Replay(), START
    found = noted is None or noted == Head(0, START)
    for position, record in enumerate(connection.execute(schema.CHAIN), start=1):
        given = {"event": record.event, "of": record.budget, "number": record.number}
        wanted = link_of(where.key, previous=link, position=position, digest=record.digest, **given)
        if (record.position, record.link) != (position, wanted):
            yield f"its chain is broken at record {position}, which was edited, removed or moved"
            return
        link = wanted
        found = found or noted == Head(position, link)
        for line in replay.follow(record):
            yield f"record {position} of its chain {line}"
            return
    if not found:
        yield (
            "the head that was noted is not in its chain: it was rewritten, or an older state was "
            "put back"
        )
    yield from replay.differences(connection, row, where.key)


class _Replay:
    """What the rows have to be after all events."""

    def __init__(self) -> None:
        self.place: tuple[int, str] | None = None
        self.last: dict[str, int] = {}
        self.opened: dict[str, str] = {}
        self.reserved: dict[tuple[str, int], str] = {}
        self.settled: dict[tuple[str, int], tuple[str, str]] = {}
        self.individual: dict[str, tuple[int, str]] = {}

    def follow(self, record: Any) -> Iterator[str]:
        """Take one event; what is impossible about it."""
        event, of, number = record.event, record.budget, record.number
        entry = (of, number)
        if event in PLACED:
            self.place = (record.position, record.digest)
        elif event == OPENED and of not in self.opened:
            self.opened[of], self.last[of] = record.digest, 0
        elif event == RESERVED and number == self.last.get(of, -1) + 1:
            self.reserved[entry], self.last[of] = record.digest, number
        elif event in SETTLED and entry in self.reserved and entry not in self.settled:
            self.settled[entry] = (event, record.digest)
        elif event == INDIVIDUAL and of not in self.individual:
            self.individual[of] = (0, record.digest)
        elif event == CHARGED and of in self.individual and number == self.individual[of][0] + 1:
            self.individual[of] = (number, record.digest)
        else:
            yield f"cannot follow those before it: {event!r:.20} of {of!r:.80}"

    def differences(
        self, connection: sa.Connection, ledger_row: Any, key: bytes | None
    ) -> Iterator[str]:
        """Rows that are not what the chain says."""
        if self.place != (ledger_row.placed, text_digest(ledger_row.place)):
            yield "where it was last used is not what its chain says"
        yield from self._budgets(connection, key)
        yield from self._individual(connection, key)
        yield from self._entries(connection, key)

    def _budgets(self, connection: sa.Connection, key: bytes | None) -> Iterator[str]:
        for row in connection.execute(sa.select(budgets)):
            new = {**row._mapping, "spent": 0.0, "reservations": 0}
            if self.opened.pop(row.name, None) != digest_of(budgets, new):
                yield f"the budget {str(row.name)[:80]!r} is not the one in its chain"
            if not intact(budgets, row, key):
                yield f"the budget {str(row.name)[:80]!r} does not match its checksum"
        for name in self.opened:
            yield f"the budget {str(name)[:80]!r} is in its chain and not in the ledger"

    def _individual(self, connection: sa.Connection, key: bytes | None) -> Iterator[str]:
        for row in connection.execute(sa.select(individual)):
            here = (row.steps, digest_of(individual, dict(row._mapping)))
            if self.individual.pop(row.name, None) != here or not intact(individual, row, key):
                yield f"the budgets of examples {str(row.name)[:80]!r} are not those in its chain"
        for name in self.individual:
            yield f"the budgets of examples {str(name)[:80]!r} are in its chain and not here"

    def _entries(self, connection: sa.Connection, key: bytes | None) -> Iterator[str]:
        """As tuples, with as few digests as there can be: opening a ledger waits for this."""
        for row in connection.execute(sa.select(entries)):
            *values, checksum = row
            entry = (values[_OF], values[_NUMBER])
            digest = tuple_digest(entries, values)
            # A reserved entry is as it was; a settled one has two digests in the chain.
            first, now = digest, None
            if values[_STATUS] != RESERVED:
                now = (values[_STATUS], digest)
                values[_STATUS], values[_COMMITTED_AT] = RESERVED, None
                first = tuple_digest(entries, values)
            same = self.reserved.pop(entry, None) == first and self.settled.pop(entry, None) == now
            if not same:
                shown = f"{str(entry[1])[:20]} of {str(entry[0])[:80]!r}"
                yield f"the entry {shown} is not the one in its chain"
            elif checksum != seal_of(digest, key):
                yield f"an entry of {str(entry[0])[:80]!r} does not match its checksum"
        if self.reserved:
            of, number = next(iter(self.reserved))
            more = f", and {len(self.reserved) - 1} more" if len(self.reserved) > 1 else ""
            yield f"the entry {number} of {str(of)[:80]!r}{more} is in its chain and not here"
