"""Where privacy spending is kept: in memory, in a file, or in a database."""

from __future__ import annotations

from hockeystick.errors import LedgerError
from hockeystick.ledger.auditing import BudgetAudit, OpenEntry, Realised, audit
from hockeystick.ledger.heads import Head, Ledger
from hockeystick.ledger.opening import adopt, authenticate, head, open_store
from hockeystick.ledger.records import BudgetRecord, EntryRecord, read_ledger
from hockeystick.ledger.spending import Spending, spending_of
from hockeystick.ledger.store import Entry, MemoryStore, Store

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
