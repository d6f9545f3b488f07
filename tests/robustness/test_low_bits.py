"""Attacks on the low bits of what is released: they succeed against floats, not exact noise.

The data is 0 or 1 in one coordinate, the noise multiplier 1. With data 1, a release that is small
has noise near -1, whose bits below the last one of 1/2 are zero in floating point; with data 0 they
are not. 2^-24 is the last binary place of single-precision numbers between 1/2 and 1, and 2^-53 of
double-precision ones. Coordinates are independent repetitions.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import hockeystick as hs

COUNTS = [10**5, pytest.param(10**7, marks=pytest.mark.long, id="10^7")]
# Where the attacks are compared: less than one in 300 is accounted there.
EPSILON = 14.0
WHITE = hs.Plan(sampling=hs.FullBatch(), steps=1)
CORRELATED = hs.Plan(sampling=hs.FullBatch(), steps=4, strategy=hs.strategies.bsr(4, bands=3))
MOVING = hs.Plan(sampling=hs.FullBatch(), steps=4, strategy=hs.strategies.bisr(4, bands=2))
SEVERAL = hs.Plan(sampling=hs.FullBatch(), steps=4)


def released(plan, data, count, arithmetic, *, dtype, seed=1):
    """Data plus noise for each step: in floats, or integers times the lattice."""
    noise = plan.noise(count, scale=1.0, dtype=dtype, rng=seed, arithmetic=arithmetic)
    rows = []
    for row, value in zip(noise, data, strict=True):
        if arithmetic == "float":
            rows.append(row + dtype(value))
        else:
            points = round(value / noise.lattice)
            assert points * noise.lattice == value
            rows.append((row + points) * noise.lattice)
    return np.array(rows)


def fine(values, bits):
    """Small, and not a multiple of 2^-bits."""
    return (np.abs(values) < 0.5) & fractional(values, bits)


def fractional(values, bits):
    """Not a multiple of 2^-bits."""
    scaled = values * 2.0**bits
    return scaled != np.rint(scaled)


def separation(with_event, without_event, epsilon=EPSILON):
    """A lower bound on delta at epsilon, in expectation: P(event) - e^epsilon P'(event)."""
    return with_event.mean() - math.exp(epsilon) * without_event.mean()


# What the plan releases with the example and without it, and the event, for each attack.
ATTACKS = {
    "one coordinate": (WHITE, (0.0,), (1.0,), np.float32, lambda y: fine(y[0], 24)),
    "double precision": (WHITE, (0.0,), (1.0,), np.float64, lambda y: fine(y[0], 53)),
    "correlated": (
        CORRELATED,
        (0.0,) * 4,
        (0.0, 0.0, 1.0, 1.0),
        np.float32,
        lambda y: fine(y[2:], 24).any(axis=0),
    ),
    "inverse with few bands": (
        MOVING,
        (0.0,) * 4,
        (0.0, 0.0, 1.0, 1.0),
        np.float32,
        lambda y: fine(y[2:], 24).any(axis=0),
    ),
    "over steps": (
        SEVERAL,
        (0.0,) * 4,
        (1.0,) * 4,
        np.float32,
        lambda y: fine(y, 24).any(axis=0),
    ),
    "sums over steps": (
        SEVERAL,
        (0.0,) * 4,
        (1.0,) * 4,
        np.float32,
        # Single precision adds up exactly in double; whatever is 1 or more off has no fine bits.
        lambda y: fractional(y.astype(np.float64).sum(axis=0), 24),
    ),
}


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("name", ATTACKS)
def test_the_attack_succeeds_against_floats(name, count):
    """More than 0.2, at an epsilon where next to nothing is accounted."""
    plan, absent, present, dtype, event = ATTACKS[name]
    accounted = hs.account(plan, noise_multiplier=1.0).delta(EPSILON)
    assert accounted < 1 / 300
    seen = event(released(plan, absent, count, "float", dtype=dtype))
    other = event(released(plan, present, count, "float", dtype=dtype, seed=2))
    assert separation(seen, other) > 0.2


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("name", ATTACKS)
def test_the_attack_fails_against_exact_noise(name, count):
    """The same event, and every residue of the lowest bits, is within the accounted delta."""
    plan, absent, present, dtype, event = ATTACKS[name]
    guarantee = hs.account(plan, noise_multiplier=1.0)
    accounted = guarantee.delta(EPSILON)
    ordinary = {epsilon: guarantee.delta(epsilon) for epsilon in (0.0, 1.0)}
    without = released(plan, absent, count, "exact", dtype=dtype)
    with_it = released(plan, present, count, "exact", dtype=dtype, seed=2)
    for first, second in ((without, with_it), (with_it, without)):
        assert separation(event(first), event(second)) <= accounted
        small = [np.abs(y[-1]) < 0.5 for y in (first, second)]
        low = [np.rint(y[-1] * 2.0**24).astype(np.int64) & 15 for y in (first, second)]
        for residue in range(16):
            seen, other = ((s & (b == residue)) for s, b in zip(small, low, strict=True))
            assert separation(seen, other) <= accounted
        for epsilon, delta in ordinary.items():
            # Within what is accounted, up to five standard deviations of both means.
            spread = 5 * (1 + math.exp(epsilon)) / (2 * math.sqrt(count))
            assert separation(event(first), event(second), epsilon) <= delta + spread
        # Low bits are uniform where the data is 0 and where it is 1.
        assert stats.chisquare(np.bincount(low[0][small[0]], minlength=16)).pvalue > 1e-5
