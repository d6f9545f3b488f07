"""Files that appear complete or not at all, those with secret keys readable by nobody else."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from hockeystick.errors import InvalidParameter

__all__ = [
    "KEY_BYTES",
    "check_secret",
    "check_target",
    "read_private",
    "read_secret",
    "replacing",
    "write_private",
]


def check_target(name: str, path: Path) -> Path:
    """The path, if a file can be put there: its directory exists and it is not one itself.

    `name` is the parameter that is named in the `InvalidParameter` otherwise.
    """
    if path.is_dir():
        raise InvalidParameter(name, "a file, not a directory", str(path))
    if not path.parent.is_dir():
        raise InvalidParameter(name, "in a directory that exists", str(path))
    return path


@contextmanager
def replacing(path: Path, *, private: bool = False) -> Iterator[BinaryIO]:
    """A binary file to write, which takes the place of `path` when the block ends without error.

    It is written beside `path` under a temporary name, so that the move is one atomic step; after
    an error, Ctrl-C included, the temporary file is removed and `path` is as it was. With `private`
    only the owner can read it, and it is on the disk when the block has ended.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        if private:
            temporary.touch(mode=0o600, exist_ok=False)
        with temporary.open("wb" if private else "xb") as file:
            yield file
            if private:
                file.flush()
                os.fsync(file.fileno())
        temporary.replace(path)
        if private:
            _sync_folder(path.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _sync_folder(folder: Path) -> None:
    """The new name is on the disk as well, where folders can be opened."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


# As long as the digest of HMAC-SHA256: a shorter key is the weaker part, a longer one adds nothing.
KEY_BYTES = 32
# No key file is longer: hexadecimal digits, or the PEM text of a key.
LONGEST_FILE = 10_000


def write_private(path: Path, content: bytes) -> None:
    """A new file that only its owner can read, on the disk; `FileExistsError` if there is one."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(temporary, path)
        except FileExistsError:
            raise
        except OSError:  # no hard links here
            if path.exists():
                raise FileExistsError(str(path)) from None
            temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def read_private(path: Path, *, in_own_folder: bool = False) -> bytes:
    """The file, if nobody else can read or write it; `ValueError` or `OSError` otherwise.

    With `in_own_folder` nobody else can put another file in its place either.
    """
    folder = path.parent.stat()
    theirs = folder.st_uid not in (0, _me(folder.st_uid)) or folder.st_mode & 0o022
    if os.name == "posix" and in_own_folder and theirs:
        raise ValueError("a folder that others own, or can write to")
    # Opening a pipe would wait for somebody to write into it.
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise ValueError("something else than a file")
        if os.name == "posix" and (found.st_uid != _me(found.st_uid) or found.st_mode & 0o077):
            raise ValueError("a file that others own, or can read or write")
        return file.read(LONGEST_FILE)


def read_secret(path: Path, *, in_own_folder: bool = False) -> bytes:
    """The key that is in the file as hexadecimal digits."""
    return check_secret(
        bytes.fromhex(read_private(path, in_own_folder=in_own_folder).decode("ascii"))
    )


def check_secret(key: bytes) -> bytes:
    """The key, if it is as long as it has to be and not one byte repeated."""
    if len(key) < KEY_BYTES:
        raise ValueError(f"{len(key)} bytes")
    if len(set(key)) == 1:
        raise ValueError("a key that repeats one byte")
    return bytes(key)


def _me(unknown: int) -> int:
    return os.geteuid() if hasattr(os, "geteuid") else unknown
