"""Text from files: unambiguous JSON, and no control characters for a terminal."""

from __future__ import annotations

import json
import math
import unicodedata
from typing import Any

__all__ = ["escaped", "invisible", "printable", "strict_json"]

# Unicode categories: control and format characters (escapes, marks of writing direction),
# surrogates, and separators of lines and paragraphs. A terminal executes them, or shows other text.
INVISIBLE = ("Cc", "Cf", "Cs", "Zl", "Zp")


def strict_json(text: str, *, several_lines: bool = False) -> Any:
    """The value of a JSON text; `ValueError`, with the reason, where readers could disagree.

    No name occurs twice in an object (the last one would count), numbers are finite, and no text
    has characters that cannot be seen; line feeds are allowed in texts of `several_lines`.
    """
    try:
        value = json.loads(
            text,
            object_pairs_hook=_unique,
            parse_constant=_refuse_constant,
            parse_float=_finite,
        )
        _check_texts(value, allowed="\n" if several_lines else "")
    except RecursionError:
        raise ValueError("values nested too deeply") from None
    return value


def invisible(text: str) -> bool:
    """Whether the text has characters that cannot be seen or that control a terminal."""
    return not text.isprintable() and any(unicodedata.category(one) in INVISIBLE for one in text)


def escaped(text: str) -> str:
    """The text for a terminal: characters that cannot be seen are escaped."""
    return "".join(
        one.encode("unicode_escape", "surrogatepass").decode("ascii") if invisible(one) else one
        for one in text
    )


def _check_texts(value: Any, *, allowed: str) -> None:
    if isinstance(value, dict):
        for name, part in value.items():
            _check_texts(name, allowed="")
            _check_texts(part, allowed=allowed)
    elif isinstance(value, list):
        for part in value:
            _check_texts(part, allowed=allowed)
    elif isinstance(value, str) and invisible(value.replace(allowed, "") if allowed else value):
        raise ValueError(f"the text {value!r:.60} has control characters")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"the name {name!r:.60} occurs twice")
        found[name] = value
    return found


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:60]} is beyond floating point")
    return number


def printable(value: object) -> str:
    """The text of a value that a file holds, without characters that would steer a terminal."""
    return "".join(letter if letter.isprintable() else "?" for letter in str(value))
