"""Processes that use a ledger, and die in the middle of it."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import event

from hockeystick.errors import BudgetExceeded, HockeystickError
from hockeystick.ledger import open_store
from hockeystick.ledger.database import DatabaseStore

DESCRIPTION = {"filter": "renyi", "kind": "proven"}
CHARGE = 2.0**-10
REQUEST = {"rate": 0.1, "noise_multiplier": 2.0}

# Children come from a process that has loaded what takes long, and that has no threads.
processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(
    ["hockeystick.ledger.database", "sqlalchemy.dialects.sqlite", "psycopg"]
)


class Place(NamedTuple):
    """Which budget."""

    where: str
    name: str
    budget: float

    def open(self) -> DatabaseStore:
        """The store, continued if it exists."""
        return open_store(self.where, name=self.name, budget=self.budget, description=DESCRIPTION)


def die() -> None:
    """As `kill -9` does it: no handler, no flushing, no closing."""
    os.kill(os.getpid(), signal.SIGKILL)


def exit_code_of(work: Callable[..., None], *arguments: object) -> int | None:
    """How a process ended that did this work."""
    process = processes.Process(target=work, args=arguments)
    process.start()
    process.join()
    return process.exitcode


def run_until(place: Place, point: str) -> None:
    """Reserve, run and commit one request, and die at the named point."""
    store = place.open()
    if point == "before reserve":
        die()
    if point == "before the reservation is written":
        event.listen(engine_of(store), "commit", lambda connection: die())
    number = store.reserve(dying_decision if point == "inside reserve" else decide).number
    if point == "after reserve":
        die()
    if point == "after run":
        die()
    if point == "before the commitment is written":
        event.listen(engine_of(store), "commit", lambda connection: die())
    store.commit(number)
    die()


def cancel_until_written(place: Place) -> None:
    """Reserve entry 1, cancel it and die before this is on the disk."""
    store = place.open()
    store.reserve(decide)
    event.listen(engine_of(store), "commit", lambda connection: die())
    store.cancel(1)


def engine_of(store: DatabaseStore):
    """Where events of the store's transactions can be watched."""
    return store._connections._engine


def decide(spent: float):
    """Always the same request."""
    return CHARGE, REQUEST


def dying_decision(spent: float):
    """Die while the budget is locked."""
    die()
    return decide(spent)


def reserve_in_a_fork(place: Place) -> None:
    """A store that is used before and after a fork, on both sides."""
    store = place.open()
    store.commit(store.reserve(decide).number)
    child = os.fork()
    store.commit(store.reserve(decide).number)
    if child == 0:
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    store.commit(store.reserve(decide).number)


def work_through(place: Place, journal: Path, seed: int, requests: int) -> None:
    """Make requests, writing down what happened, and die at random now and then.

    A line of the journal is one system call: what was written survives the process.
    """
    store = place.open()
    rng = random.Random(seed)
    with journal.open("ab", buffering=0) as file:

        def say(*words: object) -> None:
            """One line."""
            file.write(f"{' '.join(map(str, words))}\n".encode())

        for _ in range(requests):
            # About one request in two hundred is fatal, at one of five points.
            fatal = rng.choice(POINTS) if rng.random() < 1 / 200 else None
            say("asked")
            try:
                number = store.reserve(dying_decision if fatal == "inside" else decide).number
            except BudgetExceeded:
                say("refused")
                continue
            if fatal == "reserved":
                die()
            say("reserved", number)
            if fatal == "noted":
                die()
            say("ran", number)
            if fatal == "ran":
                die()
            store.commit(number)
            if fatal == "committed":
                die()
            say("committed", number)


def work_until_refused(place: Place, journal: Path, seed: int, requests: int, retry: bool) -> None:
    """The same while somebody changes the ledger's file or tables.

    A refusal is written down; then the process ends, or opens the ledger again.
    """
    rng, store = random.Random(seed), None
    with journal.open("ab", buffering=0) as file:

        def say(*words: object) -> None:
            """One line."""
            file.write(f"{' '.join(map(str, words))}\n".encode())

        for _ in range(requests):
            try:
                store = store or place.open()
                number = store.reserve(dying_decision if rng.random() < FATAL else decide).number
                say("reserved", number)
                store.commit(number)
                say("committed", number)
            except BudgetExceeded:
                say("exceeded")
            except HockeystickError as error:
                say("refused", str(error).splitlines())
                if not retry:
                    return
                store = None
                time.sleep(0.02)


def die_in_the_middle_of_writing(path: Path) -> None:
    """Leave half a transaction in the file, and what it takes to undo it in the journal."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA cache_size = 2")
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("UPDATE hockeystick_entries SET charge = 0, request = '{\"x\": 1}'")
    for number in range(1000, 1400):
        connection.execute(
            "INSERT INTO hockeystick_entries SELECT budget, ?, charge, request, status, "
            "reserved_at, committed_at, host, pid, checksum FROM hockeystick_entries LIMIT 1",
            (number,),
        )
    die()


FATAL = 1 / 150
POINTS = ("inside", "reserved", "noted", "ran", "committed")
