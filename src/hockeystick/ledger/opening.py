"""Opening a durable store."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hockeystick.errors import InvalidParameter
from hockeystick.ledger.amounts import checked_budget

if TYPE_CHECKING:
    from hockeystick.ledger.database import DatabaseStore

__all__ = ["open_store"]

LONGEST_NAME = 200


def open_store(
    where: str | Path, *, name: str, budget: float, description: Mapping[str, object]
) -> DatabaseStore:
    """The store of the named budget in a ledger, created if it is new.

    `where` is the path of an SQLite file, a sqlite:/// URL, or a postgresql:// URL (extra
    `postgres`). The same name again goes on with what was spent, from any process or machine;
    another budget or description under that name raises `InvalidParameter`. A ledger that cannot
    be read or written raises `LedgerError`.
    """
    from hockeystick.ledger.connections import Connections
    from hockeystick.ledger.database import DatabaseStore

    if not _is_name(name):
        raise InvalidParameter(
            "name", f"a text of 1 to {LONGEST_NAME} characters that can be printed", name
        )
    budget = checked_budget(budget)
    return DatabaseStore(Connections(where), name=name, budget=budget, description=description)


def _is_name(name: Any) -> bool:
    """Text that every database holds and every terminal shows."""
    return isinstance(name, str) and 1 <= len(name) <= LONGEST_NAME and name.isprintable()
