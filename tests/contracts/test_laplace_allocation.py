"""Laplace noise under random allocation, against sums over a lattice of likelihood ratios."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hockeystick as hs
from in_one_test import in_one_test

SCALE = 0.8
# Steps of the lattice from the smallest to the largest likelihood ratio.
CELLS = 4000


def one_step():
    """Lattice, and Q-masses of W = e^((2y - 1)/SCALE) clipped to y in [0, 1], split between nodes.

    Each cell of the continuous part keeps its mass and its mean, so the lattice is above the truth
    by a relative amount of about CELLS^-2.
    """
    low, high = math.exp(-1 / SCALE), math.exp(1 / SCALE)
    nodes = np.linspace(low, high, CELLS + 1)
    y = (SCALE * np.log(nodes) + 1) / 2
    # Q has density e^(-y/SCALE) / (2 SCALE) for y > 0 and P the mirrored one.
    q = -np.diff(np.exp(-y / SCALE)) / 2
    p = np.diff(np.exp((y - 1) / SCALE)) / 2
    mean = p / q
    up = (mean - nodes[:-1]) / np.diff(nodes)
    masses = np.zeros(CELLS + 1)
    masses[:-1] += q * (1 - up)
    masses[1:] += q * up
    masses[0] += 0.5
    masses[-1] += math.exp(-1 / SCALE) / 2
    return nodes, masses


def exact_delta(steps, epsilon, direction):
    """The hockey-stick divergence of the average of `steps` copies."""
    nodes, masses = one_step()
    total = masses
    for _ in range(steps - 1):
        total = np.convolve(total, masses)
    average = np.linspace(nodes[0], nodes[-1], total.size)
    gamma = math.exp(epsilon)
    gain = average - gamma if direction == "remove" else 1 - gamma * average
    return float(total @ np.maximum(gain, 0.0))


@in_one_test
@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize("steps", [1, 2, 3, 6])
@pytest.mark.parametrize("epsilon", [0.0, 0.15, 0.5])
def test_one_pick_is_exact(steps, epsilon, direction):
    """The profile method encloses the sum over the lattice."""
    plan = hs.Plan(
        sampling=hs.RandomAllocation(picks=1, out_of=steps),
        steps=steps,
        mechanism=hs.Profile.laplace(scale=SCALE),
    )
    expected = exact_delta(steps, epsilon, direction)
    answer = hs.account(plan, method="profile", direction=direction).answer(epsilon=epsilon)
    assert answer.lower <= expected * (1 + 1e-6)
    assert expected <= answer.value * (1 + 1e-4)
    assert answer.value <= expected * (1 + 6e-3)


@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize("method", ["renyi", "decomposition", "poisson-reduction"])
def test_the_other_analyses_are_above(method, direction):
    """By their own margins."""
    plan = hs.Plan(
        sampling=hs.RandomAllocation(picks=1, out_of=5),
        steps=5,
        mechanism=hs.Profile.laplace(scale=SCALE),
    )
    for epsilon in (0.1, 0.6):
        found = hs.account(plan, method=method, direction=direction).delta(epsilon)
        assert found >= exact_delta(5, epsilon, direction) * (1 - 1e-4)
