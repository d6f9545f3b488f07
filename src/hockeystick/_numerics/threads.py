"""A few pieces of work at a time, in threads that live no longer than the work."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterable

__all__ = ["in_threads", "processors"]


def processors() -> int:
    """How many this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


# At some nanoseconds each they take as long as it takes to start a thread and wait for it.
FEW_OPERATIONS = 1e5


def in_threads(tasks: Iterable[Callable[[], None]], *, operations: float = math.inf) -> None:
    """Run all tasks, on as many threads as there are processors; the first error is raised.

    Tasks that take few operations, all of them together, are run by the caller alone.

    For work of milliseconds that releases the interpreter: starting a thread takes some tens of
    microseconds, and threads that are not kept cannot be lost in a fork.
    """
    waiting = list(tasks)
    if len(waiting) == 1:
        waiting[0]()
        return
    errors: list[BaseException] = []

    def work() -> None:
        while waiting and not errors:
            try:
                task = waiting.pop()
            except IndexError:
                return
            try:
                task()
            except BaseException as error:  # noqa: BLE001 - raised below, in the caller's thread
                errors.append(error)

    helpers = min(len(waiting), processors()) - 1 if operations > FEW_OPERATIONS else 0
    threads = [threading.Thread(target=work, daemon=True) for _ in range(helpers)]
    for thread in threads:
        thread.start()
    work()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
