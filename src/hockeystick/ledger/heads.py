"""What users hold of a ledger: where it is, the key of its rows, and the head of its chain."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from hockeystick._files import KEY_BYTES, check_secret, read_secret
from hockeystick.errors import InvalidParameter

__all__ = ["ALLOWED", "START", "Head", "Ledger", "Where", "checked_key", "parsed_head"]

# The link before the first record.
START = "0" * 64


class Head(NamedTuple):
    """How many records the chain of a ledger has, and the link of the last one.

    Attributes
    ----------
    records : int
        How many.
    link : str
        It depends on every record; 64 hexadecimal digits.
    """

    records: int
    link: str

    def __str__(self) -> str:
        return f"{self.records}:{self.link}"


def parsed_head(text: object) -> Head:
    """What `str` of a head wrote."""
    records, _, link = str(text).strip().partition(":")
    if not (records.isascii() and records.isdigit() and len(link) == len(START)):
        allowed = "a head as `hockeystick ledger head` prints it, records:link"
        raise InvalidParameter("head", allowed, text)
    return Head(int(records), link)


ALLOWED = "a path, a sqlite:/// URL or a postgresql:// URL"


class Ledger:
    """A ledger whose rows are authenticated with a key: taken wherever a path or URL is.

    Whoever can write to the ledger but does not have the key can change nothing without being
    noticed, except for putting all of an older state back ([more](ledger.md#a-key)).

    Parameters
    ----------
    where
        A path or a database URL.
    key
        32 bytes or more that nobody else knows, or the file that holds them
        (`hockeystick keygen --ledger FILE`), which only its owner may read.

    Examples
    --------
    >>> import secrets
    >>> import hockeystick as hs
    >>> ledger = hs.ledger.Ledger("secured.db", key=secrets.token_bytes(32))
    >>> f = hs.filters.Gaussian(mu=1.0, ledger=ledger, name="survey")
    >>> f.request(noise_multiplier=2.0).commit()
    >>> hs.ledger.audit("secured.db")
    Traceback (most recent call last):
        ...
    hockeystick.errors.LedgerError: The ledger ... is authenticated with a key: give it ...
    """

    def __init__(self, where: str | Path, *, key: bytes | str | Path) -> None:
        if isinstance(where, Ledger) or not isinstance(where, (str, Path)):
            raise InvalidParameter("where", ALLOWED, type(where).__name__)
        self._where, self._key = where, checked_key(key)

    def __repr__(self) -> str:
        from hockeystick.ledger.locations import location

        return f"Ledger({location(self._where).text!r}, key=...)"


# Where a ledger is, as users say it.
Where = str | Path | Ledger


def checked_key(key: object) -> bytes:
    """The key itself, given as bytes or by its file."""
    allowed = (
        f"{KEY_BYTES} bytes or more, or a file with their hexadecimal digits that its owner alone "
        "can read"
    )
    try:
        if isinstance(key, (str, Path)):
            return read_secret(Path(key))
        if isinstance(key, bytes):
            return check_secret(key)
    except (OSError, ValueError) as error:
        # Not the text itself: it may be the key, given in the place of its file.
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidParameter("key", allowed, reason) from None
    raise InvalidParameter("key", allowed, type(key).__name__)
