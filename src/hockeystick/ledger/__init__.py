"""Where privacy spending is kept: in memory, in a file, or in a database; how it is opened."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from hockeystick._validate import boolean
from hockeystick.errors import InvalidParameter, LedgerError
from hockeystick.ledger.auditing import BudgetAudit, OpenEntry, Realised, audit
from hockeystick.ledger.heads import Head, Ledger, checked_key
from hockeystick.ledger.names import checked_text, refuse_missing
from hockeystick.ledger.records import BudgetRecord, EntryRecord, read_ledger
from hockeystick.ledger.spending import Spending, spending_of
from hockeystick.ledger.store import Entry, MemoryStore, Store, checked_budget

if TYPE_CHECKING:
    import sqlalchemy as sa

    from hockeystick.ledger.connections import Connections
    from hockeystick.ledger.database import DatabaseStore
    from hockeystick.ledger.heads import Where
    from hockeystick.ledger.locations import Location

__all__ = [
    "BudgetAudit",
    "BudgetRecord",
    "Entry",
    "EntryRecord",
    "Head",
    "Ledger",
    "LedgerError",
    "MemoryStore",
    "OpenEntry",
    "Realised",
    "Spending",
    "Store",
    "adopt",
    "audit",
    "authenticate",
    "head",
    "open_store",
    "read_ledger",
    "spending_of",
]


def open_store(
    where: Where,
    *,
    name: str,
    budget: float,
    description: Mapping[str, object],
    must_exist: bool | None = None,
) -> DatabaseStore:
    """The store of the named budget in a ledger, created if it is new.

    The same name again goes on with what was spent, from any process or machine. A mistyped name
    would open a second, full budget: a new name that is one slip away from one that is there is
    refused, unless `must_exist` is False. Cost: linear in the entries when it is opened, constant
    for each call afterwards.

    Parameters
    ----------
    where
        The path of an SQLite file, a sqlite:/// URL, or a postgresql:// URL (extra `postgres`); a
        file is made if there is none.
    name
        Which budget of the ledger.
    budget
        What may be spent in total.
    description
        Plain values that say whose budget it is.
    must_exist
        True opens only what is there, file and budget; False also makes a budget whose name is one
        slip away from another's; None, the default, makes any other.

    Returns
    -------
    Store
        Durable: every call ends on the disk.

    Raises
    ------
    InvalidParameter
        If the name has another budget or description, has to exist and does not, or is new and one
        slip away from another.
    LedgerError
        If the ledger cannot be read or written, is damaged, or may be a copy of another one.

    Examples
    --------
    >>> import hockeystick as hs
    >>> told = {"name": "survey", "budget": 1.0, "description": {"unit": "mu^2"}}
    >>> entry = hs.ledger.open_store("budget.db", **told).reserve(lambda spent: (0.5, {}))
    >>> hs.ledger.open_store("budget.db", **told).spent()
    0.5
    """
    from hockeystick.ledger.database import DatabaseStore

    name, budget = checked_text("name", name), checked_budget(budget)
    if must_exist is not None:
        boolean("must_exist", must_exist)
    return DatabaseStore(
        opened(where, name=name if must_exist else None),
        name=name,
        budget=budget,
        description=description,
        must_exist=must_exist,
    )


def adopt(where: Where) -> None:
    """Declare that a ledger file is the one in use from now on, where it is now.

    For a file that was moved or restored. What was spent elsewhere since it was copied is not in
    it, and nothing can find that out; damage is refused.

    Parameters
    ----------
    where
        The path of the file, or its sqlite:/// URL.

    Examples
    --------
    >>> import shutil
    >>> import hockeystick as hs
    >>> told = {"name": "survey", "budget": 1.0, "description": {}}
    >>> entry = hs.ledger.open_store("old.db", **told).reserve(lambda spent: (0.5, {}))
    >>> path = shutil.copy("old.db", "new.db")
    >>> hs.ledger.adopt(path)
    >>> hs.ledger.open_store(path, **told).spent()
    0.5
    """
    from hockeystick.ledger.chain import ADOPTED, check_key
    from hockeystick.ledger.conversion import convert
    from hockeystick.ledger.files import refuse_journal_left_at
    from hockeystick.ledger.locations import Place
    from hockeystick.ledger.schema import FORMAT
    from hockeystick.ledger.tables import format_of, record_place, recorded_place, refuse_damage

    with _changing(where) as (connection, target):
        version = format_of(connection, target)
        check_key(connection, target, version=version)
        if version != FORMAT:
            convert(connection, target, version=version)
        recorded, here = recorded_place(connection), Place.of(target.path)
        if recorded is not None and not recorded.is_at(here):
            refuse_journal_left_at(recorded)
        refuse_damage(connection, target)
        record_place(connection, target, ADOPTED)


def authenticate(where: Where, *, key: bytes | str | Path) -> None:
    """Authenticate the rows of a ledger with a key from now on, as they are now.

    Everything is checked first, and heads of the chain that were noted before are no longer in it:
    note the new one. A ledger that has a key, given with `where`, gets the new one in its place.
    Nobody may have the ledger open meanwhile; stores that do are refused afterwards.

    Parameters
    ----------
    where
        A path or URL, or a `Ledger` with the key that it has now.
    key
        As for `Ledger`.

    Examples
    --------
    >>> import secrets
    >>> import hockeystick as hs
    >>> f = hs.filters.Gaussian(mu=1.0, ledger="plain.db", name="survey")
    >>> key = secrets.token_bytes(32)
    >>> hs.ledger.authenticate("plain.db", key=key)
    >>> [record.name for record in hs.ledger.read_ledger(hs.ledger.Ledger("plain.db", key=key))]
    ['survey']
    """
    from hockeystick.ledger.conversion import seal_again
    from hockeystick.ledger.tables import prepare

    new = checked_key(key)
    with _changing(where, file_only=False) as (connection, target):
        prepare(connection, target)
        seal_again(connection, target, key=new)


def head(where: Where) -> Head:
    """The head of a ledger's chain: note it elsewhere, and `audit(where, head=...)` compares.

    That finds what no key can: an older state of the whole ledger that was put back. The chain is
    checked first, so that what is noted is the head of a whole ledger. Cost: linear.

    Parameters
    ----------
    where
        A path or a URL, or a `Ledger`.

    Returns
    -------
    Head
        Its text, records:link, is what `audit` takes.

    Examples
    --------
    >>> import hockeystick as hs
    >>> f = hs.filters.Gaussian(mu=1.0, ledger="budget.db", name="survey")
    >>> noted = str(hs.ledger.head("budget.db"))
    >>> f.request(noise_multiplier=2.0).commit()
    >>> hs.ledger.audit("budget.db", head=noted)[0].problems
    []
    """
    from hockeystick.ledger.chain import check_key, head_of
    from hockeystick.ledger.connections import reading_only
    from hockeystick.ledger.locations import existing
    from hockeystick.ledger.schema import FORMAT
    from hockeystick.ledger.tables import format_of, refuse_damage

    target = existing(where)
    with reading_only(target) as connection:
        version = format_of(connection, target)
        if version != FORMAT:
            allowed = "a ledger that was opened once with this version: earlier ones have no chain"
            raise InvalidParameter("ledger", allowed, target.text)
        check_key(connection, target, version=version)
        refuse_damage(connection, target)
        return head_of(connection)


@contextmanager
def _changing(where: Where, *, file_only: bool = True) -> Iterator[tuple[sa.Connection, Location]]:
    """A transaction on a ledger that exists."""
    from hockeystick.ledger.locations import existing

    target = existing(where, file_only=file_only)
    connections = _connected(target)
    try:
        with connections.writing() as connection:
            yield connection, target
    finally:
        connections.close()


def opened(where: Where, *, name: str | None) -> Connections:
    """Connections to a ledger; a file that is not there is made first.

    With the name of a budget that has to exist it is not.
    """
    from hockeystick.ledger.locations import location

    target = location(where)
    if target.is_file and not target.path.exists():
        if name is not None:
            refuse_missing(name, (), where=f"{target.text} (there is no such file)")
        _make(target)
    return _connected(target)


def _make(target: Location) -> None:
    from hockeystick.ledger.connections import clear_errors
    from hockeystick.ledger.files import create
    from hockeystick.ledger.tables import fill

    try:
        with clear_errors(target):
            create(target.path, partial(fill, where=target))
    except OSError as error:
        message = f"The ledger {target.text} cannot be made: {error.strerror}."
        raise LedgerError(message) from error


def _connected(target: Location) -> Connections:
    """Connections to a ledger that exists; a file of somebody else is left as it is."""
    from hockeystick.ledger.connections import Connections, reading_only
    from hockeystick.ledger.files import check_header, is_marked
    from hockeystick.ledger.tables import format_of

    if target.is_file and not is_marked(check_header(target.path)):
        with reading_only(target) as connection:
            format_of(connection, target)
    return Connections(target)
