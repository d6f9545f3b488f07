"""Where a ledger is, from a path or a URL, and what must not change about its file during use.

No message or repr ever shows a password. The journal that makes SQLite's transactions whole is
found by name, beside the file. Two names of one file, or one file mounted alone, therefore have two
journals, and a crash that one of them knows of is not seen through the other. A copy has a spending
of its own.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import struct
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa

from hockeystick._files import check_target
from hockeystick.errors import InvalidParameter, LedgerError
from hockeystick.ledger.heads import ALLOWED, Ledger, Where

__all__ = ["Location", "OpenFile", "Place", "check_single", "existing", "location", "moved"]

# Where Linux lists what is mounted.
MOUNTS = Path("/proc/self/mountinfo")
# Of Linux: <linux/stat.h> and <fcntl.h>.
AT_FDCWD, STATX_BTIME, STATX_BYTES = -100, 0x800, 256
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
        found, directory = _stat(path), _stat(path.parent).st_ino
        final = path if name is None else path.with_name(name)
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


# Text that was meant for a server, however it is written: nothing after the first word is shown.
_FOR_A_SERVER = re.compile(
    r"(?i)^[a-z][\w+.-]+:/|^postgres\w*:|://|\bpassword\s*=|(^|/)[^/@:]+:[^/@]*@"
)
# Options of a URL that are as secret as its password.
SECRET_OPTIONS = ("password", "sslpassword")


class Location(NamedTuple):
    """A file, or a server with the secrets that its URL does not hold any more."""

    url: sa.URL
    secrets: Mapping[str, str]
    key: bytes | None = None

    @property
    def is_file(self) -> bool:
        """Whether it is an SQLite file."""
        return self.url.get_backend_name() == "sqlite"

    @property
    def path(self) -> Path:
        """The file, without symbolic links."""
        return Path(str(self.url.database))

    @property
    def text(self) -> str:
        """For messages: no password, and no options."""
        if self.is_file:
            return str(self.url.database)
        return self.url.set(query={}).render_as_string(hide_password=True)

    def without_secrets(self, text: str) -> str:
        """The text of somebody else with every secret taken out."""
        for secret in sorted(self.secrets.values(), key=len, reverse=True):
            text = text.replace(secret, "***") if secret else text
        return text

    def __repr__(self) -> str:
        return f"Location({self.text!r})"


def location(where: Where) -> Location:
    """The place of a ledger, given by a path or a URL, and its key."""
    if isinstance(where, Ledger):
        return location(where._where)._replace(key=where._key)
    text = str(where)
    if text.startswith("sqlite") and "://" in text:
        return _file(_without_host(_parsed(text), text).database or "")
    if _FOR_A_SERVER.search(text) is None:
        return _file(text)
    if text.count("@") > 1:
        # Otherwise a part of the password may pass for the host.
        raise InvalidParameter("ledger", "a URL with every other @ written as %40", _shown(text))
    url = _parsed(text)
    if url.get_backend_name() != "postgresql":
        raise InvalidParameter("ledger", ALLOWED, _shown(text))
    return _server(url.set(drivername="postgresql+psycopg"))


def existing(where: Where, *, file_only: bool = False) -> Location:
    """The same, if it is a server (unless only files will do) or a file that exists."""
    target = location(where)
    if not (target.path.is_file() if target.is_file else not file_only):
        raise InvalidParameter("ledger", "a file that exists", target.text)
    return target


def _parsed(text: str) -> sa.URL:
    try:
        url = sa.make_url(text)
        # Properties that raise for a driver that does not exist.
        url.get_backend_name()
    except (sa.exc.ArgumentError, ValueError, UnicodeError):
        url = None
    # Raised here, where no other error is being handled: theirs may quote the URL.
    if url is None:
        raise InvalidParameter("ledger", ALLOWED, _shown(text))
    return url


def _without_host(url: sa.URL, text: str) -> sa.URL:
    """The URL of a file, which is on no host: `sqlite://host/file` would be another file here."""
    if any(part is not None for part in (url.host, url.username, url.password, url.port)):
        raise InvalidParameter("ledger", "a sqlite:/// URL without a host", _shown(text))
    return url


def _server(url: sa.URL) -> Location:
    secrets = {} if url.password is None else {"password": str(url.password)}
    query = dict(url.query)
    for name in SECRET_OPTIONS:
        if name not in query:
            continue
        value = query.pop(name)
        if not isinstance(value, str) or name in secrets:
            raise InvalidParameter("ledger", f"a URL with one {name}", _shown(url.drivername))
        secrets[name] = value
    return Location(url.set(query=query)._replace(password=None), secrets)


def _file(path: str) -> Location:
    if path in ("", ".", ":memory:"):
        raise InvalidParameter("ledger", "a file, so that it survives the process", path)
    target = check_target("ledger", Path(path))
    return Location(sa.URL.create("sqlite+pysqlite", database=str(target.resolve())), {})


def _shown(text: str) -> str:
    """The first word of a URL, up to what may be a secret."""
    found = re.match(r"[\w+.-]*(://)?", text)
    return f"{found.group() if found else ''}..."
