"""Averages of copies: both directions against enumeration, charges and missing mass included."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from hockeystick._numerics.law import Resolution
from hockeystick.analyses.gram.law.reading import SumLaw, averaged_copies
from references.sum_law import delta

GRID = Resolution(0.05, 1e-12, 8.0)


def enumerated(s, q, copies, epsilon, *, remove):
    """The divergence of the average of copies of an atomic law, term by term."""
    gamma, total = np.exp(epsilon), 0.0
    for chosen in itertools.product(range(s.size), repeat=copies):
        mean, mass = s[list(chosen)].mean(), q[list(chosen)].prod()
        total += mass * max(mean - gamma if remove else 1 - gamma * mean, 0.0)
    return total


def random_law(rng):
    """A few atoms of mean 1, one of them at 0 or not."""
    s = rng.exponential(size=4) * (rng.random(4) < 0.9)
    s[0] += 0.5
    q = rng.dirichlet(np.ones(4))
    return s / (s @ q), q


@pytest.mark.parametrize("remove", [True, False])
@pytest.mark.parametrize("copies", [1, 2, 3, 5])
def test_averages_are_above_enumeration(copies, remove):
    """And close to it, since every pair of few atoms is kept."""
    rng = np.random.default_rng([1, copies])
    for _ in range(10):
        s, q = random_law(rng)
        found = averaged_copies(SumLaw(s, q, 0.0), copies, GRID, remove=remove)
        for epsilon in (0.0, 0.2, 0.7):
            exact = enumerated(s, q, copies, epsilon, remove=remove)
            value = delta(found, 0.0, epsilon, remove=remove)
            assert exact * (1 - 1e-9) - 1e-14 <= value <= 1.02 * exact + 1e-6


@pytest.mark.parametrize("remove", [True, False])
@pytest.mark.parametrize("copies", [2, 3, 5])
def test_dropped_atoms_are_paid_for(copies, remove):
    """One atom is dropped and charged like a recursion does: its mass, or its part of the mean."""
    rng = np.random.default_rng([2, copies])
    for _ in range(10):
        s, q = random_law(rng)
        charge = q[2] * s[2] if remove else q[2]
        kept = [0, 1, 3]
        cut = SumLaw(s[kept], q[kept], float(charge))
        found = averaged_copies(cut, copies, GRID, remove=remove)
        for epsilon in (0.0, 0.2, 0.7):
            exact = enumerated(s, q, copies, epsilon, remove=remove)
            assert delta(found, 0.0, epsilon, remove=remove) >= exact * (1 - 1e-9) - 1e-14


def test_many_copies_approach_their_mean():
    """A thousand copies leak far less than one, and the mean stays."""
    s, q = np.array([0.5, 1.5]), np.array([0.5, 0.5])
    found = averaged_copies(SumLaw(s, q, 0.0), 1_000, GRID, remove=True)
    assert found.s @ found.q == pytest.approx(1.0, rel=1e-9)
    assert delta(found, 0.0, 0.0, remove=True) == pytest.approx(
        0.5 / np.sqrt(2e3 * np.pi), rel=0.05
    )
