"""SQLite files: made whole, opened without being made, read without being changed.

SQLite rolls back the journal that it finds beside a file, whichever file it was written for. A
crash leaves one. If the ledger was moved, used elsewhere and brought back, that journal would put
older pages into it: `check_journal` refuses before anything is rolled back.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from hockeystick.errors import InvalidParameter, LedgerError
from hockeystick.ledger.locations import Place

__all__ = [
    "APPLICATION",
    "check_header",
    "check_journal",
    "connect",
    "create",
    "is_logged",
    "is_marked",
    "journal_of",
    "readable",
    "refuse_journal_left_at",
]

# How a ledger is told from other SQLite files, in the header: "hsLG".
APPLICATION = 0x68734C47
# Of the format of SQLite files: how they begin, the length of the header, and the number in it that
# stands for write-ahead logging.
MAGIC = b"SQLite format 3\0"
HEADER_BYTES = 100
IN_WAL_MODE = 2
# Pages that another process writes just now may be read in the middle: they are read again, for up
# to a second.
ATTEMPTS, PAUSE_SECONDS = 20, 0.05

# Closing a file ends all locks that this process has on it, those of SQLite included: what is
# opened here, once for each file, stays open.
_KEPT: dict[tuple[int, int], int] = {}
_READING = {"lock": threading.Lock()}

if hasattr(os, "register_at_fork"):
    # A thread of the parent may have had the lock; the child does not have that thread.
    os.register_at_fork(after_in_child=lambda: _READING.update(lock=threading.Lock()))


def connect(path: Path, *, mode: str, patience: float) -> sqlite3.Connection:
    """A connection to a file that exists; `mode` is "rw" or "ro"."""
    return sqlite3.connect(
        f"{path.as_uri()}?mode={mode}", uri=True, timeout=patience, check_same_thread=False
    )


def create(path: Path, fill: Callable[[Path], None]) -> None:
    """Put a new file at the path, complete and on the disk; one that is there already stays.

    Only its owner can read it. It is written under another name and then renamed, while a lock on
    the directory keeps other processes from doing the same.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        temporary.touch(mode=0o600, exist_ok=False)
        fill(temporary)
        with _locked(path.parent) as directory:
            if not path.exists():
                _refuse_leftovers(path)
                temporary.rename(path)
                if directory is not None:
                    os.fsync(directory)
    finally:
        temporary.unlink(missing_ok=True)
        temporary.with_name(f"{temporary.name}-journal").unlink(missing_ok=True)


def _refuse_leftovers(path: Path) -> None:
    """SQLite would play the journal of a file that is gone into the new one."""
    for suffix in ("-journal", "-wal"):
        left = path.with_name(f"{path.name}{suffix}")
        if left.exists():
            raise LedgerError(
                f"The file {left} is left of a ledger that is no longer at {path}; put the ledger "
                "back, or delete what is left of it."
            )


@contextmanager
def _locked(directory: Path) -> Iterator[int | None]:
    """A lock that one process has at a time; where there is none, renaming never replaces."""
    try:
        import fcntl
    except ImportError:
        yield None
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


def check_header(path: Path) -> bytes:
    """The first bytes of an SQLite file; one sentence if the file is empty or something else."""
    header = _read(path, HEADER_BYTES)
    if not header:
        allowed = "a ledger written by this library, or a path without a file"
        raise InvalidParameter("ledger", allowed, f"{path}, which is empty")
    if header[: len(MAGIC)] != MAGIC:
        raise LedgerError(f"The ledger {path} cannot be used: file is not a database.")
    return header


def is_marked(header: bytes) -> bool:
    """Whether this version of the library has written the file."""
    return int.from_bytes(header[68:72], "big") == APPLICATION


def is_logged(header: bytes) -> bool:
    """Whether the file is in write-ahead mode, as earlier versions wrote it."""
    return IN_WAL_MODE in header[18:20]


@contextmanager
def readable(path: Path) -> Iterator[tuple[Path, str]]:
    """A path and a mode with which the file can be read, while neither it nor a neighbour changes.

    A file in write-ahead mode, as earlier versions wrote it, is read in a copy, because SQLite
    would leave two files beside it.
    """
    header = check_header(path)
    if not is_logged(header):
        yield path, _mode_for(path, header)
        return
    with tempfile.TemporaryDirectory(prefix="hockeystick-") as folder:
        yield _copied(path, Path(folder)), "rw"


def _mode_for(path: Path, header: bytes) -> str:
    """Read-only, unless a crashed process left a ledger's journal, which has to be rolled back."""
    return "rw" if is_marked(header) and journal_of(path).exists() else "ro"


def _copied(path: Path, folder: Path) -> Path:
    """The file with its write-ahead log, both of the same moment."""
    log, copy = path.with_name(f"{path.name}-wal"), folder / path.name
    for _ in range(ATTEMPTS):
        before = _moment(path, log)
        copy.write_bytes(_read(path))
        copied_log = copy.with_name(log.name)
        copied_log.unlink(missing_ok=True)
        if log.exists():
            copied_log.write_bytes(log.read_bytes())
        if _moment(path, log) == before:
            return copy
        time.sleep(PAUSE_SECONDS)
    raise LedgerError(f"The ledger {path} cannot be read while an older version writes to it.")


def _moment(*paths: Path) -> list[tuple[int, int] | None]:
    found = (path.stat() if path.exists() else None for path in paths)
    return [None if one is None else (one.st_mtime_ns, one.st_size) for one in found]


def _read(path: Path, count: int | None = None) -> bytes:
    """The first bytes of a file, or all, through a descriptor that is never closed."""
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise InvalidParameter("ledger", "a regular file", str(path))
        with _READING["lock"]:
            key = (found.st_dev, found.st_ino)
            if key not in _KEPT:
                _KEPT[key] = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
            return _read_at_start(_KEPT[key], found.st_size if count is None else count)
    except OSError as error:
        raise LedgerError(f"The ledger {path} cannot be read: {error.strerror}.") from error


def _read_at_start(descriptor: int, count: int) -> bytes:
    """The first bytes; the position of a descriptor is shared with forked processes."""
    if hasattr(os, "pread"):
        return os.pread(descriptor, count, 0)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return os.read(descriptor, count)


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
