"""Eight processes share one budget while they are killed and the ledger is changed under them."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from hockeystick.errors import HockeystickError
from hockeystick.ledger import LedgerError, adopt, audit, read_ledger
from hockeystick.ledger.schema import BUDGET_VALUES, budgets
from hockeystick.ledger.seals import with_checksum
from ledger.mounts import mounted
from ledger.test_shared import lines, numbers
from ledger.workers import CHARGE, Place, processes, work_until_refused

pytestmark = pytest.mark.slow

WORKERS, REQUESTS, ALLOWED = 8, 60, 300
# Reservations that are acknowledged before the ledger is changed, and kills from outside.
BEFORE, KILLS = 100, 4


class Crowd:
    """Eight workers, each with a place and a journal; who is killed is started again."""

    def __init__(self, places: list[Place], directory: Path, *, retry: bool) -> None:
        self.places = [places[worker % len(places)] for worker in range(WORKERS)]
        self.journals = [directory / f"journal-{worker}" for worker in range(WORKERS)]
        self.retry = retry
        self.kills = 0

    def acknowledged(self) -> list[int]:
        """The reservations that workers were told of."""
        return numbers(self.journals, "reserved")

    def said(self, word: str) -> list[str]:
        """What workers wrote after this word."""
        found = [line for journal in self.journals for line in lines(journal)]
        return [" ".join(line[1:]) for line in found if line[0] == word]

    def run(self, change: Callable[[], None], *, restart_after: bool = True) -> None:
        """Work through all requests; the change happens once enough was acknowledged."""
        rng, changed = random.Random(5), False
        running = {worker: self._start(worker) for worker in range(WORKERS)}
        while running:
            time.sleep(0.02)
            if not changed and len(self.acknowledged()) >= BEFORE:
                change()
                changed = True
            if self.kills < KILLS and rng.random() < 0.1:
                rng.choice(list(running.values())).kill()
            for worker, process in list(running.items()):
                if process.is_alive():
                    continue
                process.join()
                assert process.exitcode in (0, -signal.SIGKILL)
                del running[worker]
                if process.exitcode:
                    self.kills += 1
                    if restart_after or not changed:
                        running[worker] = self._start(worker)
        assert changed

    def _start(self, worker: int):
        seed = 1000 * worker + self.kills
        words = (self.places[worker], self.journals[worker], seed, REQUESTS, self.retry)
        process = processes.Process(target=work_until_refused, args=words)
        process.start()
        return process


def check_all_counted(crowd: Crowd, where: str, name: str, *, elsewhere: bool = False) -> None:
    """No number twice, everything acknowledged is there, and not more than the budget."""
    (record,) = read_ledger(where, name=name)
    (found,) = audit(where, name=name)
    assert [problem for problem in found.problems if "may be a copy" not in problem] == []
    assert bool(found.problems) == elsewhere
    acknowledged = crowd.acknowledged()
    assert max(Counter(acknowledged).values()) == 1
    assert set(acknowledged) <= {entry.number for entry in record.entries}
    assert len(acknowledged) * CHARGE <= record.spent <= record.budget
    status = {entry.number: entry.status for entry in record.entries}
    assert all(status[number] == "committed" for number in numbers(crowd.journals, "committed"))


@pytest.fixture
def place(directory):
    """A budget in a file that exists."""
    (directory / "one").mkdir()
    found = Place(str(directory / "one" / "ledger.db"), "run", ALLOWED * CHARGE)
    found.open().close()
    return found


def test_a_directory_mounted_twice(place, directory):
    """Locks and journals are shared: all of the budget is spent, once."""
    (directory / "two").mkdir()
    second = place._replace(where=str(directory / "two" / "ledger.db"))
    crowd = Crowd([place, second], directory, retry=True)
    with mounted(directory / "one", directory / "two"):
        crowd.run(lambda: None)
    check_all_counted(crowd, place.where, place.name)
    assert not crowd.said("refused")
    assert crowd.said("exceeded")


def test_a_file_mounted_alone(place, directory):
    """Whoever uses that mount is refused, the others go on."""
    (directory / "two").mkdir()
    target = directory / "two" / "ledger.db"
    target.touch()
    second = place._replace(where=str(target))
    crowd = Crowd([place, second], directory, retry=True)
    with mounted(place.where, target):
        crowd.run(lambda: None)
    check_all_counted(crowd, place.where, place.name)
    assert crowd.said("refused")
    assert all("mounted as a single file" in line for line in crowd.said("refused"))
    assert not any(lines(crowd.journals[worker])[0][0] == "reserved" for worker in (1, 3, 5, 7))


def test_hard_links(place, directory):
    """While there are two names nobody spends; afterwards only the first name does."""
    link, spare = directory / "link.db", directory / "spare.db"
    # A path without a file would be a new ledger: the second name is at first, and afterwards, one
    # of something else.
    link.write_text("something else")
    crowd = Crowd([place, place._replace(where=str(link))], directory, retry=True)

    def change():
        os.link(place.where, spare)
        spare.replace(link)
        time.sleep(0.2)
        before = len(crowd.acknowledged())
        time.sleep(0.2)
        assert len(crowd.acknowledged()) == before
        spare.write_text("something else")
        spare.replace(link)

    crowd.run(change)
    check_all_counted(crowd, place.where, place.name)
    assert any("has 2 names" in line for line in crowd.said("refused"))


def copy_and_adopt(path: Path, copy: Path) -> None:
    """A copy in the middle of a transaction is damaged: until there is one that is not."""
    for _ in range(100):
        shutil.copy(path, copy)
        try:
            adopt(copy)
        except LedgerError:
            continue
        return
    pytest.fail("every copy is damaged")


@pytest.mark.parametrize("how", ["deleted", "moved", "replaced"])
def test_the_file_disappears(place, directory, how):
    """Everything acknowledged is in the file that was there; nothing afterwards is."""
    path, aside = Path(place.where), directory / "one" / "aside.db"
    other = directory / "other.db"
    other.write_text("something else")
    crowd = Crowd([place], directory, retry=False)
    kept: list[int] = []

    def change():
        if how == "replaced":
            copy_and_adopt(path, other)
        if how == "deleted":
            kept.append(os.open(path, os.O_RDONLY))
        else:
            os.link(path, aside)
        # In one step: a worker that starts just now would make a new ledger where there is none.
        other.replace(path)

    crowd.run(change, restart_after=False)
    assert [line for line in crowd.said("refused") if not any(text in line for text in GONE)] == []
    assert any("deleted, moved or replaced" in line for line in crowd.said("refused"))
    if how == "deleted":
        aside.write_bytes(os.read(kept[0], os.fstat(kept[0]).st_size))
        os.close(kept[0])
    # What a killed worker left belongs to the file that was there.
    if path.with_name("ledger.db-journal").exists():
        path.with_name("ledger.db-journal").rename(f"{aside}-journal")
        # The ledger is not where it was used: only SQLite itself rolls back here.
        with closing(sqlite3.connect(aside)) as connection:
            connection.execute("SELECT count(*) FROM hockeystick_entries").fetchall()
    check_all_counted(crowd, str(aside), place.name, elsewhere=True)


# What workers are told when the file is gone, has two names for a moment, or is another one.
GONE = (
    "deleted, moved or replaced",
    # A journal that a killed process left beside what is there now.
    "may belong to another ledger",
    "readonly database",
    "has 2 names",
    "not a database",
    "may be a copy",
    "disk I/O error",
)


def test_copies_without_a_journal(place, directory):
    """Refused; if adopted they know what was acknowledged before, or are refused as damaged."""
    crowd = Crowd([place], directory, retry=True)
    copies: list[tuple[Path, set[int]]] = []

    def change():
        for turn in range(30):
            known = set(crowd.acknowledged())
            copies.append((directory / f"copy-{turn}.db", known))
            shutil.copy(place.where, copies[-1][0])
            time.sleep(0.005)

    crowd.run(change)
    check_all_counted(crowd, place.where, place.name)
    adopted = 0
    for copy, known in copies:
        here = place._replace(where=str(copy))
        with pytest.raises(HockeystickError):
            here.open()
        try:
            adopt(copy)
        except HockeystickError:
            continue
        adopted += 1
        store = here.open()
        assert known <= {entry.number for entry in store.history()}
        assert len(known) * CHARGE <= store.spent() <= store.budget
    assert adopted > 0


@pytest.mark.postgres
@pytest.mark.parametrize("how", ["two addresses", "deleted", "restored"])
def test_a_server(postgres_url, name, directory, how):
    """Another way to the same server is the same ledger; lost or older rows are refused."""
    place = Place(postgres_url, name, ALLOWED * CHARGE)
    place.open().close()
    second = place._replace(where=postgres_url.replace("127.0.0.1", "localhost"))
    crowd = Crowd([place, second], directory, retry=how == "two addresses")

    def change():
        if how == "two addresses":
            return
        with psycopg.connect(postgres_url) as connection:
            found = connection.execute(
                "SELECT * FROM hockeystick_budgets WHERE name = %s FOR UPDATE", (name,)
            ).fetchone()
            connection.execute("DELETE FROM hockeystick_entries WHERE budget = %s", (name,))
            if how == "deleted":
                connection.execute("DELETE FROM hockeystick_budgets WHERE name = %s", (name,))
            else:
                connection.execute(
                    "UPDATE hockeystick_budgets SET spent = 0, reservations = 0, checksum = %s "
                    "WHERE name = %s",
                    (_checksum_with_nothing_spent(found), name),
                )

    crowd.run(change, restart_after=how == "two addresses")
    if how == "two addresses":
        check_all_counted(crowd, place.where, name)
        assert not crowd.said("refused")
        return
    texts = {
        "deleted": ("no longer has a budget", "is in its chain and not in the ledger"),
        # Whoever opens the ledger anew reads its chain first.
        "restored": ("has forgotten reservations", "is in its chain and not here"),
    }
    # An entry that was to be committed is gone as well.
    refused = [line for line in crowd.said("refused") if "the number of an entry" not in line]
    assert refused
    assert [line for line in refused if not any(text in line for text in texts[how])] == []
    assert len(crowd.acknowledged()) <= ALLOWED


def _checksum_with_nothing_spent(row):
    """Of the budget as it was before the first reservation."""
    values = dict(zip(BUDGET_VALUES, row, strict=False))
    return with_checksum(budgets, {**values, "spent": 0.0, "reservations": 0})["checksum"]
