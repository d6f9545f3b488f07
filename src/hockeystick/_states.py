"""Saved states of random streams: complete, and with generators that can draw.

A digest notices damage, not intent: whoever can write a state can also compute its digest, and
knows the noise. States have to be kept as secret as the data.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

import numpy as np

from hockeystick.errors import InvalidParameter

__all__ = ["MALFORMED", "check_digest", "restored_generator", "state_digest"]

# The errors that a state of other parts, types or shapes than expected causes.
MALFORMED = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)

# 64-bit words that a restored generator draws on trial. Of a good generator two are equal with
# probability 2^-53, and the number of one bits is 8 standard deviations off with 1e-15.
TRIAL_WORDS, MOST_SURPLUS = 64, 8 * 32


def state_digest(state: Mapping[str, Any]) -> str:
    """SHA-256 of everything in the state but its own `digest`: numbers, text, arrays."""
    digest = hashlib.sha256()
    _feed(digest.update, {name: part for name, part in state.items() if name != "digest"})
    return digest.hexdigest()


def check_digest(state: Mapping[str, Any]) -> None:
    """`InvalidParameter` for a state of which something was changed or lost."""
    if state["digest"] != state_digest(state):
        raise InvalidParameter("state", "as it was saved, with the digest of its parts", "another")


def _feed(update: Callable[[Any], None], value: Any) -> None:
    if isinstance(value, Mapping):
        update(f"mapping {len(value)} ".encode())
        for name in sorted(value):
            _feed(update, name)
            _feed(update, value[name])
    elif isinstance(value, (list, tuple)):
        update(f"list {len(value)} ".encode())
        for part in value:
            _feed(update, part)
    elif isinstance(value, np.ndarray):
        update(f"array {value.dtype.str} {value.shape} ".encode())
        update(np.ascontiguousarray(value).data)
    elif isinstance(value, (bool, int, float, str, type(None), np.generic)):
        plain = value.item() if isinstance(value, np.generic) else value
        update(f"{type(plain).__name__} {plain!r} ".encode())
    else:
        raise TypeError(f"{type(value).__name__} is not part of a state")


def restored_generator(like: np.random.BitGenerator, state: Any) -> np.random.Generator:
    """A generator of the same kind in the saved state; `like` is not changed.

    `InvalidParameter` for a state from which nothing random comes: one that its setter takes, but
    that this kind of generator never has, or one with which it repeats itself. What is shown of it
    is the reason, because the state is secret.
    """
    _check_fields(like.state, state)
    first, second = (type(like)() for _ in range(2))
    first.state, second.state = deepcopy(state), deepcopy(state)
    words = np.random.Generator(second).integers(2**64, size=TRIAL_WORDS, dtype=np.uint64)
    ones = int(np.bitwise_count(words).sum())
    if np.unique(words).size < words.size or abs(ones - 32 * words.size) > MOST_SURPLUS:
        raise _degenerate("numbers that repeat")
    return np.random.Generator(first)


def _check_fields(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> None:
    """Fields that setters do not check; positions beyond a buffer would read other memory."""
    if theirs["bit_generator"] != mine["bit_generator"]:
        raise _degenerate(f"another kind, {theirs['bit_generator']!r:.60}")
    _same_form(mine, theirs)
    inner = theirs["state"]
    for name, most in (("has_uint32", 1), ("uinteger", 2**32 - 1), ("buffer_pos", 4)):
        if name in mine and not 0 <= theirs[name] <= most:
            raise _degenerate(f"{name} outside [0, {most}]")
    if "inc" in inner and inner["inc"] % 2 == 0:
        raise _degenerate("an even increment")
    if "pos" in inner and not 0 <= inner["pos"] <= 624:
        raise _degenerate("pos outside [0, 624]")
    if "rounds" in inner and inner["rounds"] != mine["state"]["rounds"]:
        raise _degenerate("another number of rounds")
    for name in ("key", "keysetup", "state"):
        words = inner.get(name)
        # The last word of SFC64 is a counter.
        if isinstance(words, np.ndarray) and not np.any(words[: 3 if name == "state" else None]):
            raise _degenerate("words that are all zero")


def _same_form(mine: Any, theirs: Any) -> None:
    """The same names, types and shapes, at any depth."""
    if isinstance(mine, Mapping):
        if not isinstance(theirs, Mapping) or set(mine) != set(theirs):
            raise _degenerate("other parts than its kind has")
        for name in mine:
            _same_form(mine[name], theirs[name])
    elif isinstance(mine, np.ndarray):
        here = (theirs.shape, theirs.dtype) if isinstance(theirs, np.ndarray) else None
        if here != (mine.shape, mine.dtype):
            raise _degenerate("words of another shape or type")
    elif isinstance(mine, (int, np.integer)) and not _integer(theirs):
        raise _degenerate("something else in the place of an integer")


def _integer(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _degenerate(reason: str) -> InvalidParameter:
    return InvalidParameter("state", "one whose generator can draw", reason)
