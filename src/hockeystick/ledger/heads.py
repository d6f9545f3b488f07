"""The head of a ledger's chain, to be noted elsewhere."""

from __future__ import annotations

from typing import NamedTuple

from hockeystick.errors import InvalidParameter

__all__ = ["START", "Head", "parsed_head"]

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
