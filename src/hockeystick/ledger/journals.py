"""The journal beside a ledger: SQLite rolls it back, whichever file it was written for.

A crash leaves a journal that is found by name. If the ledger was moved, used elsewhere and brought
back, that journal would put older pages into it.
"""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path

from hockeystick.errors import LedgerError
from hockeystick.ledger.files import check_header, connect, is_logged, is_marked
from hockeystick.ledger.place import Place

__all__ = ["check_journal", "journal_of", "refuse_journal_left_at"]

# Pages that another process writes just now may be read in the middle.
ATTEMPTS = 20
PAUSE_SECONDS = 0.05


def journal_of(path: Path) -> Path:
    """Where SQLite keeps the journal of this file."""
    return path.with_name(f"{path.name}-journal")


def check_journal(path: Path) -> None:
    """One sentence if a journal lies beside a ledger that is not known to be at this place.

    Nothing is rolled back by asking. Call it before every transaction, also one that only reads.
    """
    for _ in range(ATTEMPTS):
        belongs = _belongs(path) if journal_of(path).exists() else True
        if belongs:
            return
        if belongs is False:
            break
        time.sleep(PAUSE_SECONDS)
    raise LedgerError(
        f"The file {journal_of(path)} may belong to another ledger than {path}, which was last "
        "used elsewhere or is damaged, and would be played into it; bring both to where they were "
        "used together, or move the file that does not belong here."
    )


def refuse_journal_left_at(recorded: Place) -> None:
    """One sentence if a ledger was moved from here without the journal of its last transaction."""
    path = Path(recorded.path)
    if journal_of(path).exists():
        raise LedgerError(
            f"The file {journal_of(path)} is left of a transaction of this ledger; move the ledger "
            f"back to {path} and open it there, before it is used elsewhere."
        )


def _belongs(path: Path) -> bool | None:
    """Whether the ledger was last used at this place; nothing if that cannot be read."""
    header = check_header(path)
    if not is_marked(header):
        # Of an earlier version, or of somebody else. Such a file is first opened for reading, and
        # SQLite refuses to roll back then; in write-ahead mode it is not asked.
        return None if is_logged(header) else True
    recorded = _recorded(path)
    return None if recorded is None else recorded.is_at(Place.of(path))


def _recorded(path: Path) -> Place | None:
    """Where the file was last used, read without looking at its journal."""
    try:
        with closing(connect(path, mode="ro&immutable=1", patience=0.0)) as connection:
            found = connection.execute("SELECT place FROM hockeystick_ledger").fetchone()
    except (sqlite3.Error, UnicodeDecodeError):
        return None
    return None if found is None else Place.from_text(found[0])
