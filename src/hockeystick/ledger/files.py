"""SQLite files: made whole, opened without being made, read without being changed."""

from __future__ import annotations

import os
import secrets
import sqlite3
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from hockeystick.errors import InvalidParameter, LedgerError

__all__ = ["APPLICATION", "check_header", "connect", "create", "is_logged", "is_marked", "readable"]

# How a ledger is told from other SQLite files, in the header: "hsLG".
APPLICATION = 0x68734C47
MAGIC = b"SQLite format 3\0"
HEADER_BYTES = 100
IN_WAL_MODE = 2
ATTEMPTS = 20
PAUSE_SECONDS = 0.05

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

    It is written under another name and then renamed, while a lock on the directory keeps other
    processes from doing the same.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        temporary.touch(exist_ok=False)
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
    journal = path.with_name(f"{path.name}-journal")
    return "rw" if is_marked(header) and journal.exists() else "ro"


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
