"""Requests and descriptions as plain JSON values."""

from __future__ import annotations

import json
from collections.abc import Mapping

from hockeystick._text import strict_json
from hockeystick.errors import InvalidParameter, LedgerError

__all__ = ["as_text", "from_text", "plain_json", "printable"]


def as_text(values: Mapping[str, object], *, name: str = "request") -> str:
    """The values as JSON text with sorted keys; what could not be read again is refused."""
    try:
        text = json.dumps(dict(values), allow_nan=False, sort_keys=True)
        strict_json(text, several_lines=True)
    except (TypeError, ValueError, RecursionError):
        allowed = (
            "a mapping of different names to finite numbers, text without control characters, "
            "lists and mappings"
        )
        raise InvalidParameter(name, allowed, values) from None
    return text


def from_text(text: str) -> Mapping[str, object]:
    """What `as_text` wrote; nothing else has a name twice, or numbers that are not finite.

    The description of a mechanism may have several lines; whoever prints it escapes them.
    """
    try:
        values = strict_json(text, several_lines=True)
    except (TypeError, ValueError):
        values = None
    if not isinstance(values, dict):
        raise LedgerError(f"The ledger is damaged: {text!r:.80} is not a JSON object.")
    return values


def plain_json(values: Mapping[str, object]) -> Mapping[str, object]:
    """A copy of the values that is the same in memory as read from a file."""
    return from_text(as_text(values))


def printable(value: object) -> str:
    """The text of a value that a file holds, without characters that would steer a terminal."""
    return "".join(letter if letter.isprintable() else "?" for letter in str(value))
