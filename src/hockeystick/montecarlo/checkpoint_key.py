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
from pathlib import Path

from hockeystick.errors import InvalidParameter

__all__ = ["KEY_BYTES", "authentic", "tag", "user_key"]

KEY_BYTES = 32
FILE = "checkpoint.key"


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
    may read it.
    """
    path = None
    try:
        path = _folder() / FILE
        if not path.exists():
            _make(path)
        _check_private(path)
        key = bytes.fromhex(path.read_text(encoding="ascii"))
        if len(key) != KEY_BYTES:
            raise ValueError(f"{len(key)} bytes")
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


def _check_private(path: Path) -> None:
    found = path.stat()
    if os.name == "posix" and (found.st_uid != os.geteuid() or found.st_mode & 0o077):
        raise ValueError("a file that others own, or can read or write")
