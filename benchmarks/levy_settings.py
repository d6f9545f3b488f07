"""How much the tunables of the search for a Levy process matter.

Each setting of `hockeystick/filters/levy/search/programme.py` is halved and doubled, one at a time,
and a process is designed for the same expected run. Printed are the steps that it allows, relative
to those of the defaults, and the seconds of processor time that the design takes. All processes are
valid; the table shows which settings matter.

Usage: python benchmarks/levy_settings.py [NAME ...]
"""

from __future__ import annotations

import sys
import time
from dataclasses import fields, replace

import hockeystick as hs
from hockeystick.filters.levy.search import ExpectedRun, designed
from hockeystick.filters.levy.search.programme import DEFAULT

# Blocks of 50 steps at a small rate, and single steps at a larger one.
RUNS = {
    "0.01, 1 to 1.4, 50": ExpectedRun(
        tuple(hs.fdp.EqualSteps(0.01, noise, 50) for noise in (1.0, 1.2, 1.4)), 2.0, 1e-5, 50
    ),
    "0.1, 1.5, 1": ExpectedRun((hs.fdp.EqualSteps(0.1, 1.5, 1),), 8.0, 1e-5),
}


def steps_allowed(run, settings):
    """Rounds of the expected requests that fit, and the seconds of the design."""
    start = time.process_time()
    process = designed(run, settings=settings)
    seconds = time.process_time() - start
    budget = hs.filters.Levy(epsilon=run.epsilon, delta=run.delta, process=process)
    spent = sum(
        budget.request(rate=one.rate, noise_multiplier=one.noise_multiplier, steps=one.steps).charge
        for one in run.expected
    )
    return budget.budget / spent, seconds


def changed(name, factor):
    """The settings with one of them multiplied; of a factor, its excess over 1."""
    value = getattr(DEFAULT, name)
    if name in ("wider", "revised_by"):
        new = 1 + factor * (value - 1)
    elif isinstance(value, tuple):
        new = tuple(factor * one for one in value)
    else:
        new = max(round(factor * value), 1) if isinstance(value, int) else factor * value
    return replace(DEFAULT, **{name: new})


def main(names):
    """One line for each setting and factor."""
    steps_allowed(RUNS["0.1, 1.5, 1"], DEFAULT)  # compiles
    known = {label: steps_allowed(run, DEFAULT) for label, run in RUNS.items()}
    print(f"{'setting':>20} {'factor':>6}", *(f"{label:>26}" for label in RUNS))
    for label, (rounds, seconds) in known.items():
        print(f"{'defaults':>20} {label:>26}: {rounds:.4g} rounds, {seconds:.1f} s")
    for name in names or [field.name for field in fields(DEFAULT)]:
        for factor in (0.5, 2.0):
            found = [steps_allowed(run, changed(name, factor)) for run in RUNS.values()]
            cells = [
                f"{rounds / known[label][0] - 1:+12.2%} {seconds:11.1f} s"
                for label, (rounds, seconds) in zip(RUNS, found, strict=True)
            ]
            print(f"{name:>20} {factor:6g}", *cells, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
