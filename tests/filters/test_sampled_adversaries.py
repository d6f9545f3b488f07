"""Adversaries that are drawn at random: the schedule that they end with is within the claim."""

from __future__ import annotations

import numpy as np
import pytest

from hockeystick import filters
from hockeystick._numerics.law import Side
from hockeystick.errors import BudgetExceeded
from hockeystick.filters.residual.composition import StepClass, delta_of, law_of

EPSILON, DELTA = 1.5, 1e-4
TARGET = {"epsilon": EPSILON, "delta": DELTA}
MENUS = [[(0.1, 1.2, 3), (0.05, 1.6, 8), (0.02, 1.5, 20)], [(0.05, 2.5, 60)]]
DESIGNS = [
    filters.MenuDesign(menus=MENUS, exchanges=3, slack=2e-6),
    filters.MenuDesign(menus=MENUS),
]
KINDS = [(0.1, 1.2), (0.1, 2.0), (0.05, 1.7), (0.04, 3.0), (0.02, 1.5), (0.3, 6.0), (1.0, 25.0)]
# Exchanges take most of the time: one adversary out of twenty has them.
MAKE = {
    "residual": lambda seed: filters.Residual(**TARGET, design=DESIGNS[seed % 20 > 0]),
    "orders": lambda _: filters.RenyiOrders(**TARGET, orders=[(6.0, 0.5), (12.0, 0.5)]),
}


def realised(f: filters.Filter, rng: np.random.Generator) -> dict[StepClass, int]:
    """What is permitted to an adversary with random tastes, who clips, cancels and gives up."""
    taste = rng.dirichlet(np.full(len(KINDS), 0.3))
    counts: dict[StepClass, int] = {}
    for _ in range(60):
        rate, noise = KINDS[rng.choice(len(KINDS), p=taste)]
        noise *= float(rng.choice([1.0, 1.0, rng.uniform(0.9, 1.3)]))
        steps = int(rng.choice([1, 1, 2, 5]))
        try:
            permit = f.request(rate=rate, noise_multiplier=noise, steps=steps)
        except BudgetExceeded:
            continue
        if rng.uniform() < 0.1:
            permit.cancel()
            continue
        kind = StepClass(rate, noise / permit.clip_scale)
        counts[kind] = counts.get(kind, 0) + steps
    return counts


def worst(kind: str, adversaries: int) -> float:
    """The largest delta of the schedules that such adversaries realise."""
    found = 0.0
    for seed in range(adversaries):
        counts = realised(MAKE[kind](seed), np.random.default_rng(seed))
        law = law_of(counts, Side.LOWER, step=0.05, tail=1e-9)
        found = max(found, delta_of(law, EPSILON))
    return found


@pytest.mark.parametrize("kind", MAKE)
def test_the_realised_schedule_is_within_the_claim(kind: str) -> None:
    """A lower bound on delta of what was permitted, had it been fixed, is at most delta."""
    assert 0 < worst(kind, 6) <= DELTA


@pytest.mark.long
@pytest.mark.parametrize("kind", MAKE)
def test_ten_thousand_adversaries(kind: str) -> None:
    """The same for 10,000 of them; some come close."""
    assert 0.2 * DELTA < worst(kind, 10_000) <= DELTA
