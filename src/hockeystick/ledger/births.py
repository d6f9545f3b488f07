"""When a file was made: inode numbers are given out again, a moment is not."""

from __future__ import annotations

import ctypes
import os
import struct
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["birth_of"]

# Of Linux: <linux/stat.h> and <fcntl.h>.
AT_FDCWD = -100
STATX_BTIME = 0x800
STATX_BYTES = 256
# Where the birth is in `struct statx`: seconds (64 bits) and nanoseconds (32 bits).
BIRTH_OFFSET = 80


def birth_of(path: Path) -> int | None:
    """Nanoseconds since 1970; nothing where the system or the file system does not say."""
    statx = _statx()
    if statx is not None:
        return _asked(statx, path)
    found = path.stat()
    exact = getattr(found, "st_birthtime_ns", None)
    rounded = getattr(found, "st_birthtime", None)
    return exact if exact is not None or rounded is None else int(rounded * 1e9)


def _asked(statx: Any, path: Path) -> int | None:
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
