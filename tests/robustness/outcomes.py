"""What a call may do: answer, or refuse in one sentence, within its time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from hockeystick.errors import HockeystickError

__all__ = ["CASES", "SECONDS", "outcome", "refused"]

# CPU seconds that a single call may take; a hundred times what is usual here.
SECONDS = 30.0
# How many calls were made so far.
CASES = [0]

Answer = TypeVar("Answer")


def outcome(call: Callable[[], Answer], *, seconds: float = SECONDS) -> Answer | HockeystickError:
    """What the call returns, or the error that it raises on purpose.

    Any other exception fails the test, and so does a warning, as everywhere in the suite.
    """
    CASES[0] += 1
    started = time.process_time()
    try:
        result: Answer | HockeystickError = call()
    except HockeystickError as error:
        assert_one_sentence(str(error))
        result = error
    spent = time.process_time() - started
    assert spent < seconds, f"{spent:.1f} s of CPU time"
    return result


def assert_one_sentence(message: str) -> None:
    """One line of some length that ends in a full stop."""
    assert message.endswith("."), message
    assert "\n" not in message, message
    assert 10 < len(message) < 600, message


def refused(result: object) -> bool:
    """Whether the outcome is an error."""
    return isinstance(result, HockeystickError)
