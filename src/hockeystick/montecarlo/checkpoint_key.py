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
from contextlib import suppress
from pathlib import Path

from hockeystick._files import KEY_BYTES, read_secret, write_private
from hockeystick.errors import InvalidParameter

__all__ = ["KEY_BYTES", "authentic", "tag", "user_key"]

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
    may read or replace it.
    """
    path = None
    try:
        path = _folder() / FILE
        if not path.exists():
            _make(path)
        key = read_secret(path, in_own_folder=True)
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
    with suppress(FileExistsError):
        write_private(path, secrets.token_hex(KEY_BYTES).encode("ascii"))
