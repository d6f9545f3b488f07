"""What somebody who can write to a ledger without a key can do: make everything fit again."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa

from hockeystick.ledger.chain import CREATED, Event, begin
from hockeystick.ledger.conversion import _past, _seal_rows
from hockeystick.ledger.locations import location
from hockeystick.ledger.schema import ledger
from hockeystick.ledger.seals import text_digest


def forge(connection: sa.Connection, where: str | Path, *, key: bytes | None = None) -> None:
    """Checksums and a chain that fit the rows as they are, in a transaction."""
    place = connection.execute(sa.select(ledger.c.place)).scalar()
    _seal_rows(connection, key)
    events = [Event(CREATED, text_digest(place)), *_past(connection)]
    begin(connection, location(where)._replace(key=key), events, place)


def forge_file(path: Path) -> None:
    """The same for a file that nobody has open."""
    engine = sa.create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        forge(connection, path)
    engine.dispose()
