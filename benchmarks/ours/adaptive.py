"""Filters and their ledger."""

from __future__ import annotations

import sys
import tempfile
import time
from functools import cache, partial, reduce
from pathlib import Path

import numpy as np

import hockeystick as hs
import settings as s  # beside harness.py
from starting import printed_json

sys.path.append(str(Path(__file__).parents[2] / "reproductions"))
from fdp_filter_showcase import best_renyi_epsilon, showcase_schedule


def _fixed_in_advance(delta):
    """epsilon of the showcase if its steps were fixed, remove; that of the best Renyi filter."""
    runs = [
        hs.Profile.gaussian(noise_multiplier=noise).subsample(rate).self_compose(steps)
        for rate, noise, steps in showcase_schedule()
    ]
    whole = reduce(hs.Profile.compose, runs)
    return whole.epsilon(delta), best_renyi_epsilon(showcase_schedule(), delta=delta)[0]


def levy(c):
    """Build a filter for the showcase and ask for its blocks.

    epsilon at which they fit over that of the same steps fixed in advance; then the three epsilons,
    and the seconds for building.
    """
    schedule, delta = showcase_schedule(), c["delta"]
    start = time.perf_counter()
    budget = hs.filters.Levy(
        epsilon=c["epsilon"],
        delta=delta,
        expected=schedule,
        block=c["block"],
    )
    building = time.perf_counter() - start
    for rate, noise, steps in schedule:
        block = min(c["block"], steps)
        for _ in range(steps // block):
            budget.request(rate=rate, noise_multiplier=noise, steps=block, clip=False)
    pair = hs.Profile(budget.process.pair(budget.spent))
    epsilon = max(pair.epsilon(delta), pair.reverse().epsilon(delta))
    fixed, renyi = _fixed_in_advance(delta)
    return None, epsilon / fixed, [epsilon, fixed, renyi, building]


def _timed_parts(budget):
    """The same request over and over: how much longer the last ones take than the first ones.

    Then the seconds for one request.
    """
    c = s.REQUESTS
    parts = []
    for _ in range(c["requests"] // c["part"]):
        start = time.perf_counter()
        for _ in range(c["part"]):
            budget.request(rate=c["rate"], noise_multiplier=c["noise"]).commit()
        parts.append(time.perf_counter() - start)
    return None, parts[-1] / min(parts[:2]), [sum(parts) / c["requests"]]


def renyi_requests():
    """A Renyi filter with room for all of them."""
    c = s.REQUESTS
    return _timed_parts(
        hs.filters.Renyi(epsilon=100.0, delta=1e-5, expected=[(c["rate"], c["noise"], 1)])
    )


def levy_requests():
    """A Levy filter with room for all of them."""
    c = s.REQUESTS
    return _timed_parts(
        hs.filters.Levy(epsilon=100.0, delta=1e-5, expected=[(c["rate"], c["noise"], 1)])
    )


@cache
def _budgets():
    c = s.INDIVIDUAL
    budgets = hs.filters.Individual.renyi(
        examples=c["examples"],
        epsilon=8.0,
        delta=1e-5,
        expected=[(c["rate"], c["noise"], 1)],
    )
    return budgets, np.random.default_rng(0).lognormal(size=c["examples"])


def individual():
    """One step for a budget of each example."""
    budgets, norms = _budgets()
    c = s.INDIVIDUAL
    budgets.step(norms, rate=c["rate"], noise_multiplier=c["noise"])
    return None, None


def ledger(requests=300):
    """Requests to a filter whose state is a file, each one reserved and committed: per second."""
    with tempfile.TemporaryDirectory() as folder:
        budget = hs.filters.Renyi(
            epsilon=8.0, delta=1e-5, expected=[(0.01, 1.0, 1)], ledger=Path(folder) / "budget.db"
        )
        start = time.perf_counter()
        for _ in range(requests):
            with budget.request(rate=0.01, noise_multiplier=1.0):
                pass
        return None, requests / (time.perf_counter() - start)


def filter_steps():
    """Steps of the residual filter over those of a run fixed in advance; then both."""
    c = s.FILTER_STEPS
    words = ["filters", "--epsilon", c["epsilon"], "--delta", c["delta"], "--json"]
    words += ["--expected", f"{c['rate']},{c['noise']},1"]
    found = printed_json(sys.executable, "-m", "hockeystick", *map(str, words))
    steps = {row["filter"]: row["steps"] for row in found["filters"]}
    ours, fixed = steps["Residual"], steps["fixed in advance"]
    return None, ours / fixed, [ours, fixed]


CASES = {
    "filter-steps": filter_steps,
    **{name: partial(levy, setting) for name, setting in s.LEVY.items()},
    "renyi-requests": renyi_requests,
    "levy-requests": levy_requests,
    "individual": individual,
    "ledger": ledger,
}
