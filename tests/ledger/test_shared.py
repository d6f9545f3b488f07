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

WORKERS = 8
# Requests of each worker; the long run makes more of them.
REQUESTS = [150, pytest.param(1000, marks=pytest.mark.long)]
# Fewer are allowed: the last ones are refused.
ALLOWED = 0.9
# Kills at moments that nobody chose, besides those in the workers.
KILLS = 8
# How long a journal is then, in bytes for each request of a worker; a request takes about 43.
SHORTEST, LONGEST = 4, 30


def lines(journal):
    """What a worker wrote down, word by word."""
    return [line.split() for line in journal.read_text().splitlines()] if journal.exists() else []


def numbers(journals, word):
    """The entries of which workers said this."""
    return [int(line[1]) for journal in journals for line in lines(journal) if line[0] == word]


def start(place, journal, seed, requests):
    """A worker for the requests that were not made yet, or nothing if all were."""
    left = requests - sum(line == ["asked"] for line in lines(journal))
    if left == 0:
        return None
    process = processes.Process(target=work_through, args=(place, journal, seed, left))
    process.start()
    return process


def run_all(place, journals, requests):
    """Run all requests, with a new worker for each one that was killed; the number of kills."""
    rng = random.Random(1)
    kills, targets = (
        0,
        [rng.randrange(SHORTEST * requests, LONGEST * requests) for _ in range(KILLS)],
    )
    running = {journal: start(place, journal, kills, requests) for journal in journals}
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
            seed = 1000 * kills + len(lines(journal))
            running[journal] = start(place, journal, seed, requests)
            if running[journal] is None:
                del running[journal]
    return kills


@pytest.mark.slow
@pytest.mark.parametrize("requests", REQUESTS)
def test_eight_processes(where, name, directory, requests, record_property):
    """No entry twice, no commitment lost, what was run is counted, never above the budget."""
    budget = ALLOWED * WORKERS * requests * CHARGE
    place = Place(where, name, budget)
    journals = [directory / f"journal-{worker}" for worker in range(WORKERS)]
    started = time.perf_counter()
    kills = run_all(place, journals, requests)
    seconds = time.perf_counter() - started
    record_property("requests_per_second", round(WORKERS * requests / seconds))
    print(f"{WORKERS * requests / seconds:.0f} requests/s, {kills} kills")  # noqa: T201

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
    assert record.spent == budget == record.budget
    assert sum(line == ["refused"] for journal in journals for line in lines(journal)) > 0
