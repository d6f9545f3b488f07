"""The secret key that marks checkpoints as this user's own.

Acceptance of a claim rests on the tallies in a checkpoint, and numbers in a file prove nothing by
themselves. They are authenticated (HMAC-SHA256) with a key that is kept apart from the file: of the
caller, or of the user, made once and readable by nobody else.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
from pathlib import Path

from hockeystick.errors import InvalidParameter

__all__ = ["KEY_BYTES", "authentic", "tag", "user_key"]

# As long as the digest of HMAC-SHA256: a shorter key is the weaker part, a longer one adds nothing.
KEY_BYTES = 32
FILE = "checkpoint.key"
# Of a key as hexadecimal digits; a longer file is none.
LONGEST_FILE = 1000


def tag(key: bytes, content: bytes) -> str:
    """What only an owner of the key can compute."""
    return hmac.new(key, content, hashlib.sha256).hexdigest()


def authentic(key: bytes, content: bytes, given: str) -> bool:
    """Whether the tag is that of the content."""
    return hmac.compare_digest(tag(key, content).encode(), given.encode("utf-8", "replace"))


def user_key() -> bytes:
    """The user's key, which is made if there is none.

    It is in the folder for a user's state, $XDG_STATE_HOME/hockeystick or
    ~/.local/state/hockeystick. `InvalidParameter` if it cannot be read or made there, or if others
    may read or replace it.
    """
    path = None
    try:
        path = _folder() / FILE
        if not path.exists():
            _make(path)
        key = bytes.fromhex(_read_private(path).decode("ascii"))
        if len(key) != KEY_BYTES:
            raise ValueError(f"{len(key)} bytes")
        if len(set(key)) == 1:
            raise ValueError("a key that repeats one byte")
    except (OSError, RuntimeError, ValueError) as error:
        allowed = (
            f"{KEY_BYTES} bytes or more, given by Execution, or a file {path or FILE} that this "
            "user alone can read"
        )
        raise InvalidParameter("checkpoint_key", allowed, str(error)) from None
    return key


def _folder() -> Path:
    known = os.environ.get("XDG_STATE_HOME")
    base = Path(known) if known and Path(known).is_absolute() else Path.home() / ".local" / "state"
    return base / "hockeystick"


def _make(path: Path) -> None:
    """Complete or not at all; of two processes that make it at once, one does."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = path.with_name(f".{FILE}.{secrets.token_hex(8)}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(secrets.token_hex(KEY_BYTES))
        try:
            os.link(temporary, path)
        except FileExistsError:
            return
        except OSError:  # no hard links here
            temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _read_private(path: Path) -> bytes:
    """The file, if nobody else can read it or put another one in its place."""
    folder = path.parent.stat()
    if os.name == "posix" and (folder.st_uid not in (0, os.geteuid()) or folder.st_mode & 0o022):
        raise ValueError("a folder that others own, or can write to")
    # Opening a pipe would wait for somebody to write into it.
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise ValueError("something else than a file")
        if os.name == "posix" and (found.st_uid != os.geteuid() or found.st_mode & 0o077):
            raise ValueError("a file that others own, or can read or write")
        return file.read(LONGEST_FILE)
