"""Memory of draws: it does not grow with their number."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

import hockeystick as hs
from hockeystick.montecarlo.checkpoint import Checkpoint
from hockeystick.montecarlo.drawing import Drawer, Pool
from hockeystick.montecarlo.draws import Job, Payoff, pieces_of
from hockeystick.schemes.simulation import Simulation
from montecarlo.conftest import PLAN

SCRIPT = """
import resource, sys
import hockeystick as hs
from hockeystick import strategies

plan = hs.Plan(
    sampling=hs.MinSep(rate=0.01, separation=16),
    steps=2_000,
    strategy=strategies.bsr(2_000, bands=16),
)
hs.estimate_profile(
    plan, noise_multiplier=1.0, epsilons=[1.0], direction="remove", draws=int(sys.argv[1]), seed=1
)
if sys.platform == "linux":
    # The largest size since this program began; getrusage also counts the process that forked it.
    with open("/proc/self/status") as status:
        print(next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 2**10)
else:
    unit = 2**20 if sys.platform == "darwin" else 2**10
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit)
"""


def peak_of(draws):
    """Megabytes, in a process of its own."""
    command = [sys.executable, "-c", SCRIPT, str(draws)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    return float(done.stdout)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_draws():
    """All draws of the second run would take 640 MB."""
    few, many = peak_of(10_000), peak_of(40_000)
    assert many < few + 30
    assert many < 500


def test_pieces_are_not_listed_in_advance(small_pieces, monkeypatch):
    """A job of any size begins at once: here 200,000 pieces, of which the first is enough."""
    monkeypatch.setattr("hockeystick.montecarlo.draws.MOST_PIECES", 1_000_000)
    run = Simulation(plan=PLAN, noise_multipliers=(1.0,), present=True)
    job = Job(run, (Payoff(0.5),), 500 * 200_000, seed=1)
    with ThreadPoolExecutor(1) as executor:
        drawer = Drawer(Pool(executor, 1), Checkpoint(None, {}, 1), hs.Execution())
        drawer.sums(replace(job, draws=500))  # compiles what is needed
        tracemalloc.start()
        sums = drawer.sums(job, enough=lambda sums: True)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert sums.draws == 500
    assert peak < 10e6


def test_a_job_has_not_too_many_pieces():
    """Pieces grow with the job, so that what a checkpoint remembers stays small."""
    run = Simulation(plan=PLAN, noise_multipliers=(1.0,), present=True)
    pieces = pieces_of(Job(run, (Payoff(0.5),), 10**13, seed=1))
    assert next(pieces).draws == 10**13 // 50_000
