"""Every method at rates and deltas down to 1e-300: no epsilon is below what an event shows."""

from __future__ import annotations

import math
import random

import pytest

import hockeystick as hs
from hockeystick.errors import HockeystickError
from hypothesis_strategies import thinned
from references.events import epsilon_shown, exact, poisson_patterns, projected

pytestmark = pytest.mark.slow

# What a bound may lose to floating point.
TOLERANCE = 1e-6


def upper(plan, noise, method, delta, direction):
    """The bound, infinite where the method says that it cannot tell."""
    try:
        found = hs.account(plan, noise_multiplier=noise, method=method, direction=direction)
        return found.answer(delta=delta)
    except HockeystickError:
        return None


def test_two_steps_at_a_rate_of_1e_299():
    """Products of such rates underflow; the answer may be too large, never too small."""
    plan = hs.Plan(sampling=hs.Poisson(rate=1e-299), steps=2)
    found = hs.account(plan, noise_multiplier=0.0185).answer(delta=8e-300)
    assert found.value >= 634
    assert found.lower is None or found.lower <= 5000


@pytest.mark.parametrize("seed", thinned(range(20), normal=6))
def test_poisson_plans(seed):
    """All proven methods, both directions, independent and correlated noise, 1 to 3 steps."""
    rng = random.Random(seed)
    steps = rng.choice([1, 2, 3])
    strategy = hs.strategies.identity(steps)
    if rng.random() < 0.4:
        strategy = hs.strategies.bsr(steps, bands=rng.randint(1, steps))
    rate = 10.0 ** rng.uniform(rng.choice([-310, -20]), -0.1)
    noise = 10.0 ** rng.uniform(-2, 1)
    delta = rng.choice([10.0 ** rng.uniform(-299.9, -3), rate * 10.0 ** rng.uniform(-5, 0)])
    delta = min(max(delta, 1e-300), 0.9)
    plan = hs.Plan(sampling=hs.Poisson(rate=rate), steps=steps, strategy=strategy)
    # 1 - rate takes as many digits as the rate has zeros.
    with exact.workdps(40 + math.ceil(-math.log10(rate))):
        mixture = projected(poisson_patterns(rate, steps), strategy.to_matrix(), noise, 0)
        for direction in ("remove", "add"):
            shown = epsilon_shown(mixture, delta, add=direction == "add")
            for method, kind in hs.methods(plan).items():
                found = upper(plan, noise, method, delta, direction) if kind == "proven" else None
                if found is not None:
                    assert found.value >= shown * (1 - TOLERANCE), (method, direction)


@pytest.mark.parametrize("seed", thinned(range(12), normal=3))
def test_balls_in_bins(seed):
    """The same with bins, whose likelihood ratios are averaged."""
    rng = random.Random(seed)
    steps = bins = rng.choice([2, 3])
    noise, delta = 10.0 ** rng.uniform(-2, 1), 10.0 ** rng.uniform(-299.9, -3)
    plan = hs.Plan(sampling=hs.BallsInBins(bins=bins), steps=steps)
    patterns = [
        (tuple(int(i == b) for i in range(steps)), exact.mpf(1) / bins) for b in range(bins)
    ]
    mixture = projected(patterns, plan.strategy.to_matrix(), noise, 0)
    for direction in ("remove", "add"):
        shown = epsilon_shown(mixture, delta, add=direction == "add")
        for method, kind in hs.methods(plan).items():
            # Searches of gram domination take seconds each.
            if kind == "proven" and method != "gram":
                found = upper(plan, noise, method, delta, direction)
                assert found is None or found.value >= shown * (1 - TOLERANCE), (method, direction)
