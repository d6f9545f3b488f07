"""Eight processes share one budget while some of them are killed."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter

import pytest

from hockeystick.ledger import audit, read_ledger
from ledger.workers import CHARGE, Place, processes, work_through

WORKERS, REQUESTS = 8, 500
# Fewer than are asked for: the last ones are refused.
ALLOWED = 3600
# Kills at moments that nobody chose, besides those in the workers.
KILLS = 8
# How long a journal is then, in bytes; a request takes about 43.
SMALLEST, LARGEST = 2_000, 15_000


def lines(journal):
    """What a worker wrote down, word by word."""
    return [line.split() for line in journal.read_text().splitlines()] if journal.exists() else []


def numbers(journals, word):
    """The entries of which workers said this."""
    return [int(line[1]) for journal in journals for line in lines(journal) if line[0] == word]


def start(place, journal, seed):
    """A worker for the requests that were not made yet, or nothing if all were."""
    left = REQUESTS - sum(line == ["asked"] for line in lines(journal))
    if left == 0:
        return None
    process = processes.Process(target=work_through, args=(place, journal, seed, left))
    process.start()
    return process


def run_all(place, journals):
    """Run all requests, with a new worker for each one that was killed; the number of kills."""
    rng = random.Random(1)
    kills, targets = 0, [rng.randrange(SMALLEST, LARGEST) for _ in range(KILLS)]
    running = {journal: start(place, journal, kills) for journal in journals}
    while running:
        time.sleep(0.03)
        for journal, process in list(running.items()):
            if process.is_alive():
                if targets and journal.exists() and journal.stat().st_size > targets[-1]:
                    targets.pop()
                    os.kill(process.pid, signal.SIGKILL)
                continue
            process.join()
            if process.exitcode == -signal.SIGKILL:
                kills += 1
            else:
                assert process.exitcode == 0
            running[journal] = start(place, journal, 1000 * kills + len(lines(journal)))
            if running[journal] is None:
                del running[journal]
    return kills


@pytest.mark.slow
def test_eight_processes(where, name, directory, record_property):
    """No entry twice, no commitment lost, what was run is counted, never above the budget."""
    place = Place(where, name, ALLOWED * CHARGE)
    journals = [directory / f"journal-{worker}" for worker in range(WORKERS)]
    started = time.perf_counter()
    kills = run_all(place, journals)
    seconds = time.perf_counter() - started
    record_property("requests_per_second", round(WORKERS * REQUESTS / seconds))
    print(f"{WORKERS * REQUESTS / seconds:.0f} requests/s, {kills} kills")  # noqa: T201

    (record,) = read_ledger(where, name=name)
    (found,) = audit(where, name=name)
    assert not found.problems
    assert kills > KILLS
    status = {entry.number: entry.status for entry in record.entries}
    reserved, ran, committed = (numbers(journals, w) for w in ("reserved", "ran", "committed"))
    assert max(Counter(reserved).values()) == 1
    assert all(status[number] == "committed" for number in committed)
    assert all(status[number] in ("reserved", "committed") for number in ran)
    # A kill leaves at most one entry behind of which its worker did not say the end.
    assert len(record.entries) - len(committed) <= kills
    assert len(found.open_entries) <= kills
    assert record.spent == ALLOWED * CHARGE == record.budget
    assert sum(line == ["refused"] for journal in journals for line in lines(journal)) > 0
