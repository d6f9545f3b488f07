"""Objects know the process that made them."""

from __future__ import annotations

import os

import pytest

from hockeystick._process import OwnProcess
from hockeystick.errors import HockeystickError, LedgerError
from references.forked import in_child


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


def test_two_processes_with_one_number():
    """In nested namespaces of pids a child may have the number of its parent."""
    own, here = OwnProcess(), os.getpid()

    def as_in_a_namespace():
        os.getpid = lambda: here
        own.check("The stream")

    assert in_child(as_in_a_namespace).startswith("HockeystickError: The stream belongs to process")
    assert own.is_here


def test_what_a_child_makes_is_its_own():
    """Also a child of a child."""
    assert in_child(lambda: OwnProcess().check("The stream")) == "returned"
    grandchild = "HockeystickError: The stream belongs to process"

    def nested():
        own = OwnProcess()
        assert in_child(lambda: own.check("The stream")).startswith(grandchild)

    assert in_child(nested) == "returned"
