"""Files that appear complete or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from hockeystick.errors import InvalidParameter

__all__ = ["check_target", "replacing"]


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
