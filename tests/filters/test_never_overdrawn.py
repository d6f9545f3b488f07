"""Adaptive runs, in the long test run ten thousand, against a chooser that tries to overdraw."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import hockeystick as hs
from hockeystick import filters
from hockeystick.errors import BudgetExceeded

BASE = hs.Profile.gaussian(noise_multiplier=1.0).subsample(0.05)
WIDE = hs.Profile.gaussian(noise_multiplier=1e-9)


def renyi(rng: np.random.Generator) -> filters.Filter:
    """A Renyi filter of some order."""
    epsilon = float(rng.uniform(0.5, 8.0))
    return filters.Renyi(epsilon=epsilon, delta=1e-3, order=float(rng.uniform(15.0, 20.0)))


def gaussian(rng: np.random.Generator) -> filters.Filter:
    """A Gaussian filter of some budget."""
    return filters.Gaussian(mu=float(10 ** rng.uniform(-3, 1)))


def small(rng: np.random.Generator) -> filters.Filter:
    """The approximate filter for small rates."""
    return filters.ApproximateGaussian(mu=float(10 ** rng.uniform(-2, 0.5)))


def large(rng: np.random.Generator) -> filters.Filter:
    """The approximate filter for large rates."""
    return filters.ApproximateGaussian(mu=float(10 ** rng.uniform(-2, 0.5)), regime="large")


def natural(rng: np.random.Generator) -> filters.Filter:
    """The natural filter of a Gaussian family."""
    budget = hs.Profile.gaussian(noise_multiplier=float(rng.uniform(0.2, 3.0)))
    return filters.NaturalFDP(family=[WIDE], budget=budget)


def full_batch_divergence(f: filters.Filter, rate: float, mu: float) -> float:
    """The closed form at rate 1; at smaller rates nothing is checked here."""
    return f.order * mu**2 / 2 if rate == 1 else 0.0  # type: ignore[attr-defined]


# Rates that the filter takes, and its true charge for contributions of size mu.
Charge = Callable[[filters.Filter, float, float], float]
CASES: dict[str, tuple[Callable[..., filters.Filter], tuple[float, ...], Charge, int]] = {
    "renyi": (renyi, (0.01, 0.3, 1.0), full_batch_divergence, 1500),
    "gaussian": (gaussian, (1.0,), lambda f, rate, mu: mu**2, 3500),
    "small": (small, (0.01, 0.19), lambda f, q, mu: q**2 * math.expm1(mu**2) / 2, 2000),
    "large": (large, (0.81, 1.0), lambda f, q, mu: (q * mu) ** 2 / 2, 1500),
    "natural": (natural, (1.0,), lambda f, rate, mu: mu**2, 1500),
}


def chosen_noise(f: filters.Filter, rng: np.random.Generator, last: float) -> float:
    """Anything from harmless to ruinous, and what just fits or just does not."""
    draw = rng.integers(4)
    if draw == 0:
        return float(10 ** rng.uniform(-3, 3))
    if draw == 1:
        return last
    ratio = math.sqrt(max(f.remaining, 1e-12))
    exact = 1.0 / ratio if draw == 2 else math.sqrt(0.5) / ratio
    return exact * float(1 + rng.integers(-2, 3) * 2.0**-52)


def run(f: filters.Filter, rates: tuple[float, ...], rng: np.random.Generator) -> list:
    """One adaptive run of up to eight requests, some of them cancelled."""
    permits, noise = [], 1.0
    for _ in range(8):
        noise = chosen_noise(f, rng, noise)
        rate = rates[int(rng.integers(len(rates)))]
        steps = int(rng.choice([1, 1, 3, 1000]))
        try:
            permit = f.request(rate=rate, noise_multiplier=noise, steps=steps)
        except BudgetExceeded:
            continue
        if rng.random() < 0.2:
            permit.cancel()
        else:
            permits.append(permit)
        assert f.spent <= f.budget
        assert f.remaining >= 0.0
    return permits


@pytest.mark.slow
@pytest.mark.parametrize("part", [10, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", CASES)
def test_spending_never_exceeds_the_budget(name: str, part: int) -> None:
    """Not by an ulp, and no permitted step costs more than it was charged."""
    make, rates, charge, all_runs = CASES[name]
    runs = all_runs // part
    rng = np.random.default_rng(sum(name.encode()))
    clipped = 0
    for _ in range(runs):
        f = make(rng)
        permits = run(f, rates, rng)
        assert math.fsum(permit.charge for permit in permits) == f.spent <= f.budget
        clipped += any(permit.clip_scale < 1 for permit in permits)
        for permit in permits:
            mu = 1.0 / permit.effective_noise_multiplier
            assert permit.steps * charge(f, permit.rate, mu) <= permit.charge
    assert clipped > runs / 2
