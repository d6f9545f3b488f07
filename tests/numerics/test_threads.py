"""Work in threads: all of it is done, by as many threads as there may be, and errors are raised."""

from __future__ import annotations

import os
import threading
from functools import partial

import pytest

from hockeystick._numerics import threads


@pytest.mark.parametrize("allowed", [1, 3])
def test_no_more_threads_than_processors(monkeypatch, allowed):
    """One processor is the caller's own: no thread is started for it."""
    started = []
    begin = threading.Thread.start

    def start(thread: threading.Thread) -> None:
        started.append(thread)
        begin(thread)

    monkeypatch.setattr(threads, "processors", lambda: allowed)
    monkeypatch.setattr(threading.Thread, "start", start)
    done: list[int] = []
    threads.in_threads(partial(done.append, index) for index in range(20))
    assert sorted(done) == list(range(20))
    assert len(started) == allowed - 1


def test_few_operations_are_left_to_the_caller(monkeypatch):
    """Starting a thread would take longer."""
    monkeypatch.setattr(threads, "processors", lambda: 3)
    for operations, alone in ((10.0, True), (1e9, False)):
        there: set[int] = set()
        waits = threading.Barrier(1 if alone else 3, timeout=10)

        def task(there: set[int] = there, waits: threading.Barrier = waits) -> None:
            there.add(threading.get_ident())
            waits.wait()

        threads.in_threads([task] * 3, operations=operations)
        assert len(there) == (1 if alone else 3)


def test_processors_are_those_of_the_process(monkeypatch):
    """Not all of a machine of which a part may be used."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 5}, raising=False)
    assert threads.processors() == 2
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert threads.processors() == 1


def test_the_first_error_is_raised():
    """After the threads have ended."""

    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        threads.in_threads([fail] * 3)
