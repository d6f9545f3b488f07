"""Opening a durable store."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from hockeystick._validate import boolean
from hockeystick.errors import InvalidParameter, LedgerError
from hockeystick.ledger.names import checked_text, refuse_missing
from hockeystick.ledger.store import checked_budget

if TYPE_CHECKING:
    from hockeystick.ledger.connections import Connections
    from hockeystick.ledger.database import DatabaseStore
    from hockeystick.ledger.locations import Location

__all__ = ["adopt", "open_store"]


def open_store(
    where: str | Path,
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
        _opened(where, name=name if must_exist else None),
        name=name,
        budget=budget,
        description=description,
        must_exist=must_exist,
    )


def adopt(where: str | Path) -> None:
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
    from hockeystick.ledger.files import refuse_journal_left_at
    from hockeystick.ledger.locations import location
    from hockeystick.ledger.place import Place
    from hockeystick.ledger.tables import (
        format_of,
        record_place,
        recorded_place,
        refuse_damage,
        upgrade,
    )

    target = location(where)
    if not target.is_file or not target.path.is_file():
        raise InvalidParameter("ledger", "a file that exists", target.text)
    connections = _connected(target)
    try:
        with connections.writing() as connection:
            if format_of(connection, target) == 1:
                upgrade(connection, target)
            recorded, here = recorded_place(connection), Place.of(target.path)
            if recorded is not None and not recorded.is_at(here):
                refuse_journal_left_at(recorded)
            refuse_damage(connection, target, every_entry=True)
            record_place(connection, here)
    finally:
        connections.close()


def _opened(where: str | Path, *, name: str | None) -> Connections:
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
            create(target.path, partial(fill, name=target.path.name))
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
