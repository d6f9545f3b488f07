"""Objects know the process that made them."""

from __future__ import annotations

import os

import pytest

from hockeystick.errors import HockeystickError, LedgerError
from hockeystick.process import OwnProcess


def test_nothing_in_the_same_process():
    """The owner may use it."""
    own = OwnProcess()
    assert own.is_here
    own.check("The stream")


def test_one_sentence_after_a_fork():
    """The child has a copy; what it is and what to do is in the message."""
    own = OwnProcess()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            own.check("The stream", instead="make another", error=LedgerError)
            os.write(writing, b"accepted")
        except HockeystickError as error:
            os.write(writing, f"{type(error).__name__}: {error}".encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    said = os.read(reading, 1000).decode()
    os.close(reading)
    os.close(writing)
    assert said == (
        f"LedgerError: The stream belongs to process {os.getpid()}, and process {child} has a "
        "copy of it: make another."
    )


def test_the_base_of_all_errors_is_the_default(monkeypatch):
    """Whoever gives no class gets an error of this library."""
    own = OwnProcess()
    monkeypatch.setattr(os, "getpid", lambda: own.pid + 1)
    with pytest.raises(HockeystickError, match="make a new one in this process"):
        own.check("The sampler")
