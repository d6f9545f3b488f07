"""Two chains at once: both sides against quadrature, draws and a single chain."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hockeystick._numerics.law import Side
from hockeystick.analyses.gram.law.chain_sums import chain_work
from hockeystick.analyses.gram.law.task import LATTICES, Task
from hockeystick.analyses.gram.order.chains import ChainMixture, TwoChains
from references.sum_law import (
    assert_order_two,
    band,
    bounds,
    chain_law,
    enclosed,
    exact,
    ratios,
)

DIRECTIONS = [True, False]
EPSILONS = [-0.5, 0.0, 0.5, 1.5]


def pair_of(*, chains=(0.4, 0.5), own=0.1, rhos=(0.2, 0.9), common=0.0, bins=3, **others):
    """Two chains with equal amplitudes unless others are given."""
    amplitudes = np.array(others.get("amplitudes", np.ones(bins)), dtype=float)
    ways = {"ring": others.get("ring", False), "mirrored": others.get("mirrored", False)}
    return TwoChains(common, chains, own, rhos, amplitudes, **ways)


THREE = {
    "line": (pair_of(common=0.1, amplitudes=[1.0, 0.8, 0.5]), 1.0),
    "rising": (pair_of(own=0.0, amplitudes=[0.3, 0.8, 1.0]), 1.0),
    "ring": (pair_of(own=0.0, ring=True), 2.5),
    "coarse ring": (pair_of(ring=True, amplitudes=[1.0, 0.8, 0.5]), 6.0),
    "mirrored": (pair_of(own=0.0, mirrored=True, amplitudes=[1.0, 0.8, 0.5]), 1.2),
    "coarse": (pair_of(), 4.0),
    "very coarse": (pair_of(chains=(1.5, 1.0)), 20.0),
    "one is idle": (pair_of(chains=(0.0, 0.5)), 1.5),
}


@pytest.mark.slow
@pytest.mark.parametrize("remove", DIRECTIONS)
@pytest.mark.parametrize("name", THREE)
def test_three_bins_are_enclosed(name, remove):
    """Whatever the steps: lower <= quadrature <= upper."""
    pair, fineness = THREE[name]
    expected = [exact(pair.gram(), e, remove=remove) for e in EPSILONS]
    values = bounds(chain_law, pair, EPSILONS, remove=remove, fineness=fineness, tail=1e-8)
    assert enclosed(values, expected, slack=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("remove", DIRECTIONS)
@pytest.mark.parametrize("ring", [False, True])
def test_short_lattices_are_charged(ring, remove):
    """A third of a lattice cut off: the bounds stay on their sides, and the charge is needed."""
    pair = pair_of(chains=(0.8, 0.6), ring=ring)
    expected = [exact(pair.gram(), e, remove=remove) for e in (*EPSILONS, 3.0)]
    law = {"remove": remove, "fineness": 1.5, "tail": 0.3}
    values = bounds(chain_law, pair, (*EPSILONS, 3.0), **law)
    assert enclosed(values, expected, slack=1e-5)
    upper = chain_law(pair, side=Side.UPPER, **law)
    if remove:
        assert values[-1, 1] - upper.charge < expected[-1]
    else:
        assert upper.q.sum() + upper.charge == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("remove", DIRECTIONS)
@pytest.mark.parametrize("fineness", [4.0, 1.0])
def test_one_chain_between_mirrors_is_enclosed(fineness, remove):
    """Terms near the ends have a larger variance, and each is normalised by its own."""
    pair = ChainMixture(0.1, 0.8, 0.2, 0.6, np.array([1.0, 0.8, 0.5]), ring=False, mirrored=True)
    expected = [exact(pair.gram(), e, remove=remove) for e in EPSILONS]
    values = bounds(chain_law, pair, EPSILONS, remove=remove, fineness=fineness)
    assert enclosed(values, expected, slack=1e-5)


def random_pair(rng):
    """Two to five bins on a line, rarely a ring, with or without every other ingredient."""
    bins = int(rng.integers(2, 6))
    fading = rng.uniform(0.2, 1.0, bins)
    return pair_of(
        common=float(rng.choice([0.0, rng.uniform(0.01, 0.5)])),
        chains=tuple((10 ** rng.uniform(-1.5, 0.3, 2)).tolist()),
        own=float(rng.choice([0.0, 10 ** rng.uniform(-2.0, 0.0)])),
        rhos=(float(rng.uniform(0.0, 0.6)), float(rng.uniform(0.6, 0.98))),
        amplitudes=rng.choice([0, 1]) * (1 - fading) + fading,
        ring=bool(rng.random() < 0.2),
    )


@pytest.mark.slow
@pytest.mark.parametrize("remove", DIRECTIONS)
def test_random_pairs_agree_with_simulation(remove):
    """Ten of them on coarse lattices: no bound on the wrong side of the band."""
    rng = np.random.default_rng(11)
    draws, which = rng.standard_normal((40_000, 5)), rng.random(40_000)
    informative = 0
    for _ in range(10):
        pair = random_pair(rng)
        epsilons = rng.uniform([-1.0, 0.0, 0.5], [0.0, 0.5, 2.0])
        ratio = ratios(pair.gram(), draws, which, remove=remove)
        low, high = np.array([band(ratio, e, remove=remove) for e in epsilons]).T
        fineness = 4.0 if pair.ring else 1.5
        values = bounds(chain_law, pair, epsilons, remove=remove, fineness=fineness, tail=1e-5)
        assert np.all(values[:, 0] <= high), pair
        assert np.all(values[:, 1] >= low), pair
        informative += int(np.sum(low > 0))
    assert informative > 10


@pytest.mark.slow
@pytest.mark.parametrize("remove", DIRECTIONS)
def test_both_sides_converge_with_order_two(remove):
    """Halving the steps divides the errors by nearly four."""
    pair = pair_of(own=0.0, bins=2, rhos=(0.1, 0.7))
    expected = np.array([exact(pair.gram(), e, remove=remove, step=0.01) for e in (0.3, 1.0)])
    options = {"remove": remove, "tail": 1e-7, "steps": (0.8, 0.4, 0.2)}
    assert_order_two(chain_law, pair, (0.3, 1.0), expected=expected, **options)


def test_an_idle_chain_changes_nothing():
    """Without variance, the second chain has one state, and the law is that of the first alone."""
    amplitudes = np.array([1.0, 0.9, 0.7])
    single = ChainMixture(0.1, 0.5, 0.2, 0.6, amplitudes, ring=False)
    double = TwoChains(0.1, (0.5, 0.0), 0.2, (0.6, 0.3), amplitudes, ring=False)
    for remove in DIRECTIONS:
        law = {"remove": remove, "fineness": 1.2, "tail": 1e-8}
        for side in Side.UPPER, Side.LOWER:
            one, two = (chain_law(mixture, side=side, **law) for mixture in (single, double))
            np.testing.assert_allclose(two.s, one.s, rtol=1e-12)
            np.testing.assert_allclose(two.q, one.q, rtol=1e-12)
        costs = [chain_work(Task(one, remove, Side.UPPER, 1.2, 1e-8)) for one in (single, double)]
        assert costs[1] > costs[0]


def test_the_matrix_is_the_sum_of_both():
    """common + A A (first + second + own), and each axis sees the other as independent."""
    pair = pair_of(common=0.2, amplitudes=[1.0, 0.5, 0.7, 0.1], ring=True)
    slow, fast = pair.axes
    outer = np.outer(pair.amplitudes, pair.amplitudes)
    independent = np.diag(np.diag(outer)) * (pair.chain + pair.own)
    both = slow.gram() + fast.gram() - 0.2 - independent
    np.testing.assert_allclose(pair.gram(), both, rtol=1e-12)
    assert slow.signal == fast.signal == pytest.approx(pair.signal, rel=1e-14)


@pytest.mark.slow
def test_rounding_by_the_mean_is_unsound_when_adding(monkeypatch):
    """It reports less than the proven lower bound, as for one chain."""
    pair = pair_of(chains=(1.2, 1.0), own=0.0, bins=25, rhos=(0.2, 0.7))
    law = {"remove": False, "tail": 1e-5}
    ((lower, _),) = bounds(chain_law, pair, [0.1], fineness=0.8, **law)
    coarse = {"fineness": 2.2, "lattices": replace(LATTICES, sum_step=0.1), **law}
    ((_, sound),) = bounds(chain_law, pair, [0.1], **coarse)
    monkeypatch.setattr(Task, "exponent", lambda self, i: None)
    ((_, naive),) = bounds(chain_law, pair, [0.1], **coarse)
    assert naive < lower < sound
