"""The one place of a ledger file: what must not change while it is used, and who has a copy.

The journal that makes SQLite's transactions whole is found by name, beside the file. Two names of
one file, or one file mounted alone, therefore have two journals, and a crash that one of them
knows of is not seen through the other. A copy has a spending of its own.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import struct
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from hockeystick.errors import LedgerError

__all__ = ["OpenFile", "Place", "birth_of", "check_single", "moved"]

# Where Linux lists what is mounted.
MOUNTS = Path("/proc/self/mountinfo")
# Of Linux: <linux/stat.h> and <fcntl.h>.
AT_FDCWD = -100
STATX_BTIME = 0x800
STATX_BYTES = 256
# Where the birth is in `struct statx`: seconds (64 bits) and nanoseconds (32 bits).
BIRTH_OFFSET = 80


class Place(NamedTuple):
    """Where a file is, as it is recorded inside it."""

    name: str
    file: int  # inode numbers
    directory: int
    device: int
    path: str
    birth: int | None = None  # of the file, where the system says

    @classmethod
    def of(cls, path: Path, *, name: str | None = None) -> Place:
        """Of a file, or of one that is about to be called `name`."""
        found = _stat(path)
        final = path if name is None else path.with_name(name)
        directory = _stat(path.parent).st_ino
        return cls(
            final.name, found.st_ino, directory, found.st_dev, str(final), birth=birth_of(path)
        )

    @classmethod
    def from_text(cls, text: object) -> Place | None:
        """What `as_text` wrote; nothing if it is something else."""
        try:
            values = json.loads(str(text))
            place = cls(**values)
            # It is shown, and a journal is searched for there.
            usable = isinstance(values["path"], str) and Path(place.path).name
        except (TypeError, ValueError, RecursionError):
            return None
        return place if usable and "\0" not in place.path else None

    def as_text(self) -> str:
        """As JSON."""
        return json.dumps(self._asdict(), sort_keys=True)

    def is_at(self, here: Place) -> bool:
        """Whether the file is where it was.

        The directory may be seen under another path (the device is then the same), and devices
        may get other numbers when a machine starts again (the path is then the same). The inode
        number of a deleted file is given to the next one: its birth tells them apart.
        """
        same_file = (self.name, self.file, self.directory) == here[:3]
        if None not in (self.birth, here.birth):
            same_file = same_file and self.birth == here.birth
        return same_file and (self.device == here.device or self.path == here.path)


class OpenFile:
    """The file that was opened; `check` refuses when its path leads to something else."""

    def __init__(self, path: Path) -> None:
        self.path = path
        found = _stat(path)
        self._first = (found.st_dev, found.st_ino)
        check_single(path)

    def check(self) -> None:
        """One sentence if the file was deleted, replaced, or given a second name."""
        try:
            # Not through a symbolic link: its target would have a journal of another name.
            found = self.path.lstat()
        except OSError:
            found = None
        if found is None or (found.st_dev, found.st_ino) != self._first:
            raise LedgerError(
                f"The ledger {self.path} was deleted, moved or replaced while it was open, and "
                "nothing is spent from it any more; put the file back or open it again."
            )
        _check_links(self.path, found.st_nlink)


def check_single(path: Path) -> None:
    """One sentence if the file has several names, or is mounted without its directory."""
    _check_links(path, _stat(path).st_nlink)
    if str(path) in _mount_points():
        raise LedgerError(
            f"The ledger {path} is mounted as a single file, and a crash would leave its journal "
            "behind in another directory; mount the directory that holds it."
        )


def moved(path: Path, recorded: Place) -> str:
    """One sentence about a file that is not where it was."""
    return (
        f"The ledger {path} was last used as {recorded.path!r:.300} and may be a copy that does "
        f"not know all spending; run `hockeystick ledger adopt {path}` if no other is in use."
    )


def _check_links(path: Path, links: int) -> None:
    if links != 1:
        raise LedgerError(
            f"The ledger {path} has {links} names (hard links), and each would have a journal of "
            "its own; delete all names but one."
        )


def _stat(path: Path) -> os.stat_result:
    """Of a file that was there a moment ago."""
    try:
        return path.stat()
    except OSError as error:
        raise LedgerError(f"The ledger {path} was deleted or moved: {error.strerror}.") from error


def _mount_points() -> set[str]:
    """Where something is mounted; nothing where the system does not say."""
    try:
        lines = MOUNTS.read_bytes().splitlines()
    except OSError:
        return set()
    return {os.fsdecode(_unescaped(line.split(b" ")[4])) for line in lines}


def _unescaped(text: bytes) -> bytes:
    return re.sub(rb"\\([0-7]{3})", lambda found: bytes([int(found.group(1), 8)]), text)


def birth_of(path: Path) -> int | None:
    """When a file was made, in nanoseconds since 1970; None where the system does not say.

    Inode numbers are given out again, a moment is not.
    """
    statx = _statx()
    if statx is not None:
        return _birth_by_statx(statx, path)
    found = path.stat()
    exact = getattr(found, "st_birthtime_ns", None)
    rounded = getattr(found, "st_birthtime", None)
    return exact if exact is not None or rounded is None else int(rounded * 1e9)


def _birth_by_statx(statx: Any, path: Path) -> int | None:
    """By the system call that Python does not have on Linux."""
    buffer = ctypes.create_string_buffer(STATX_BYTES)
    if statx(AT_FDCWD, os.fsencode(path), 0, STATX_BTIME, buffer) != 0:
        return None
    (mask,) = struct.unpack_from("=I", buffer)
    seconds, nanoseconds = struct.unpack_from("=qI", buffer, BIRTH_OFFSET)
    return seconds * 10**9 + nanoseconds if mask & STATX_BTIME else None


@cache
def _statx() -> Any:
    """The function of the C library of Linux; nothing where there is none."""
    try:
        return ctypes.CDLL(None).statx
    except (AttributeError, OSError, TypeError):
        return None
