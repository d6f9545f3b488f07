"""Laws of sums over chains: both sides against closed forms, quadrature and simulation."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from hockeystick._numerics.law import Side
from hockeystick.analyses.gram.law import LATTICES, Task
from hockeystick.analyses.gram.law.chain_states import own_parts
from hockeystick.analyses.gram.order.chains import ChainMixture
from hypothesis_strategies import thinned
from in_one_test import in_one_test
from references.sum_law import band, chain_law, enclosed, exact, payoff, ratios
from references.sum_law import bounds as law_bounds

DIRECTIONS = [True, False]
EPSILONS = [-0.5, 0.0, 0.1, 0.5, 1.0, 2.0]


def mixture(*, amplitudes=None, bins=3, **others):
    """A mixture with equal amplitudes unless others are given."""
    amplitudes = np.ones(bins) if amplitudes is None else np.array(amplitudes, dtype=float)
    usual = {"common": 0.0, "chain": 1.0, "own": 0.0, "rho": 0.5}
    return ChainMixture(**{**usual, **others}, amplitudes=amplitudes)


def bounds(pair, epsilons, **options):
    """One row (lower, upper) for each epsilon."""
    return law_bounds(chain_law, pair, epsilons, **options)


# One and two bins.


@pytest.mark.parametrize("remove", DIRECTIONS)
@pytest.mark.parametrize("fineness", [3.0, 1.0, 0.3])
def test_one_bin_encloses_the_gaussian(remove, fineness):
    """A single term is a Gaussian mechanism; chain, own part and common factor add up."""
    pair = mixture(common=0.2, chain=0.5, own=0.3, amplitudes=[0.9])
    total = 0.2 + 0.81 * 0.8
    expected = [float(payoff(0.0, 1.0, total, e, remove=remove)) for e in EPSILONS]
    assert enclosed(bounds(pair, EPSILONS, remove=remove, fineness=fineness), expected)


TWO_BINS = {
    "line": mixture(bins=2),
    "far apart": mixture(bins=2, rho=0.001, chain=0.3),
    "close": mixture(bins=2, rho=0.97, chain=2.0),
    "own": mixture(bins=2, own=0.7, rho=0.3),
    "fading": mixture(amplitudes=[1.0, 0.2], chain=1.5, own=0.1),
    "rising": mixture(amplitudes=[0.1, 1.0], chain=2.0, rho=0.9),
    "rising, mirrors": mixture(amplitudes=[0.2, 0.9], chain=1.5, own=0.1, beside=1, rho=0.6),
    "common": mixture(bins=2, common=0.3, chain=0.4),
    "ring": mixture(bins=2, ring=True, rho=0.3),
    "rising ring": mixture(amplitudes=[0.2, 0.9], chain=1.5, own=0.1, ring=True, rho=0.6),
    "mirrors": mixture(bins=2, beside=0, rho=0.3),
    "everything": mixture(amplitudes=[0.9, 0.6], common=0.1, own=0.2, beside=0, rho=0.4),
    "small": mixture(bins=2, chain=1e-3, own=1e-3),
    "large": mixture(bins=2, chain=6.0, own=3.0),
}


@in_one_test
@pytest.mark.parametrize("remove", DIRECTIONS)
@pytest.mark.parametrize("name", TWO_BINS)
@pytest.mark.parametrize("fineness", [3.0, 0.7])
def test_two_bins_are_enclosed(name, fineness, remove):
    """Whatever the steps: lower <= quadrature <= upper to nine digits."""
    pair = TWO_BINS[name]
    scale = math.sqrt(pair.gram().max())
    epsilons = [scale * e for e in (-1.0, 0.0, 0.3, 1.0, 2.0)]
    expected = [exact(pair.gram(), e, remove=remove, step=0.004) for e in epsilons]
    assert enclosed(bounds(pair, epsilons, remove=remove, fineness=fineness), expected)


@pytest.mark.slow
@pytest.mark.parametrize("remove", DIRECTIONS)
def test_two_bins_are_tight(remove):
    """At fineness 0.05 both sides agree with quadrature to three digits."""
    pair = TWO_BINS["common"]
    expected = [exact(pair.gram(), e, remove=remove, step=0.004) for e in EPSILONS]
    values = bounds(pair, EPSILONS, remove=remove, fineness=0.05)
    assert enclosed(values, expected)
    np.testing.assert_allclose(values / np.array(expected)[:, None], 1.0, rtol=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize("remove", DIRECTIONS)
def test_tiny_divergences_are_relatively_accurate(remove):
    """Where delta is about 1e-12 or 1e-33 and the tail smaller still, within a third."""
    pair = mixture(bins=2, chain=0.05, own=0.02)
    epsilons = [1.4, 2.6]
    expected = np.array(
        [exact(pair.gram(), e, remove=remove, step=0.004, reach=25.0) for e in epsilons]
    )
    assert np.all(expected < [1e-11, 1e-32])
    values = bounds(pair, epsilons, remove=remove, fineness=0.12, tail=1e-45)
    assert enclosed(values, expected)
    np.testing.assert_allclose(np.log(values / expected[:, None]), 0.0, atol=0.35)


EDGES = [
    pytest.param(mixture(common=0.1, own=0.2, rho=0.0), 1.0, id="independent"),
    pytest.param(mixture(common=0.1, own=0.2, rho=0.0, beside=0), 1.0, id="rho 0, mirrors"),
    pytest.param(mixture(common=0.1, own=0.2, amplitudes=[1, 1, 1e-9]), 1.0, id="faded"),
    pytest.param(mixture(chain=2.0, rho=0.9, amplitudes=[1e-9, 0.5, 1]), 1.0, id="grown"),
    pytest.param(mixture(common=0.1, own=0.2, rho=0.3), 20.0, id="very coarse"),
    pytest.param(mixture(common=0.1, own=0.2, rho=0.9, beside=0), 20.0, id="very coarse mirrors"),
    pytest.param(mixture(own=1e-9, chain=0.3), 1.0, id="hardly any own parts"),
    pytest.param(mixture(chain=1e-12), 1.0, id="hardly any signal"),
    pytest.param(mixture(chain=0.0, own=0.2), 1.0, id="no chain"),
    pytest.param(mixture(chain=0.0, own=0.2, beside=0), 1.0, id="no chain, mirrors"),
    pytest.param(mixture(bins=1, beside=0), 1.0, id="one between mirrors"),
    pytest.param(mixture(common=0.1, own=0.2, rho=0.9, ring=True), 20.0, id="very coarse ring"),
    pytest.param(mixture(chain=0.0, own=0.2, ring=True), 1.0, id="no ring"),
    pytest.param(mixture(bins=1, ring=True), 1.0, id="ring of one"),
    pytest.param(mixture(own=0.2, rho=1 - 1e-6), 1.0, id="hardly moves"),
    pytest.param(mixture(own=0.2, rho=0.9, bins=3), 5.0, id="coarse"),
]


@pytest.mark.slow
@pytest.mark.parametrize("remove", DIRECTIONS)
@pytest.mark.parametrize(("pair", "fineness"), EDGES)
def test_limiting_cases_are_enclosed(pair, fineness, remove):
    """Ingredients that vanish, states that do not move, lattices that say nothing."""
    scale = math.sqrt(pair.gram().max())
    epsilons = [-0.5 * scale, 0.3 * scale, 1.5 * scale]
    expected = [exact(pair.gram(), e, remove=remove) for e in epsilons]
    values = bounds(pair, epsilons, remove=remove, fineness=fineness)
    assert enclosed(values, expected, slack=1e-5)


@pytest.mark.parametrize("wrong", [{"rho": 1.0}, {"rho": -0.1}, {"amplitudes": [0.5, 1.1, 0.6]}])
def test_other_mixtures_are_refused(wrong):
    """Chains that stand still, and amplitudes above 1."""
    with pytest.raises(ValueError, match="Correlations are below 1"):
        mixture(own=0.2, **wrong)


def test_amplitudes_may_vanish_when_adding():
    """A term without noise is the constant 1/b."""
    pair = mixture(common=0.1, own=0.2, amplitudes=[1.0, 0.5, 0.0])
    expected = [exact(pair.gram(), e, remove=False) for e in EPSILONS]
    assert enclosed(bounds(pair, EPSILONS, remove=False), expected, slack=1e-5)


# Random mixtures.


def random_mixture(rng):
    """Two to six bins, between mirrors or not, with or without every other ingredient."""
    bins = int(rng.integers(2, 7))
    fading = rng.uniform(0.1, 1.0, bins)
    return mixture(
        common=float(rng.choice([0.0, rng.uniform(0.01, 0.5)])),
        chain=float(10 ** rng.uniform(-1.5, 0.6)),
        own=float(rng.choice([0.0, 10 ** rng.uniform(-2.0, 0.3)])),
        rho=float(rng.uniform(0.01, 0.99)),
        amplitudes=rng.choice([0, 1]) * (1 - fading) + fading,
        **({}, {"ring": True}, {"beside": int(rng.integers(3))})[int(rng.integers(3))],
    )


@pytest.mark.slow
@pytest.mark.parametrize("remove", DIRECTIONS)
@pytest.mark.parametrize("cases", [15, pytest.param(50, marks=pytest.mark.long)])
def test_random_mixtures_agree_with_simulation(cases, remove):
    """Steps from moderate to absurd: no bound on the wrong side of the band."""
    rng = np.random.default_rng(7)
    draws, which = rng.standard_normal((100_000, 6)), rng.random(100_000)
    for index in range(cases):
        pair = random_mixture(rng)
        epsilons = rng.uniform([-1.0, 0.0, 0.5], [0.0, 0.5, 2.0])
        ratio = ratios(pair.gram(), draws, which, remove=remove)
        low, high = np.array([band(ratio, e, remove=remove) for e in epsilons]).T
        for fineness in (3.0, (0.8, 1.2, 1.8)[index % 3]):
            values = bounds(pair, epsilons, remove=remove, fineness=fineness, tail=1e-6)
            assert np.all(values[:, 0] <= high), (pair, fineness)
            assert np.all(values[:, 1] >= low), (pair, fineness)


@pytest.mark.slow
@pytest.mark.parametrize("remove", DIRECTIONS)
def test_random_mixtures_of_three_agree_with_quadrature(remove):
    """The same without noise."""
    rng = np.random.default_rng(8)
    for index in range(6):
        pair = random_mixture(rng)
        pair = mixture(
            common=pair.common,
            chain=pair.chain,
            own=0.1 + pair.own,
            rho=0.9 * pair.rho,
            amplitudes=[1.0, 0.8, 0.5] if index % 3 else [1.0, 1.0, 1.0],
            **({"beside": 0}, {}, {"ring": True})[index % 3],
        )
        epsilons = rng.uniform([-1.0, 0.0, 0.5], [0.0, 0.5, 2.0])
        expected = [exact(pair.gram(), e, remove=remove) for e in epsilons]
        values = bounds(pair, epsilons, remove=remove, fineness=(2.5, 1.0)[index % 2])
        assert enclosed(values, expected, slack=1e-5), pair


@pytest.mark.slow
@pytest.mark.parametrize("remove", DIRECTIONS)
@pytest.mark.parametrize("shape", [{}, {"beside": 0}, {"ring": True}])
@pytest.mark.parametrize("tail", thinned([1e-2, 0.3, 1e-4], normal=1))
def test_short_lattices_are_charged(tail, shape, remove):
    """However much lies beyond the ends, the bounds stay on their sides; the charge is needed."""
    pair = mixture(chain=0.8, own=0.3, amplitudes=[1.0, 0.9, 0.7], **shape)
    epsilons = [-0.5, 0.0, 0.5, 1.5, 3.0]
    expected = [exact(pair.gram(), e, remove=remove) for e in epsilons]
    values = bounds(pair, epsilons, remove=remove, tail=tail)
    assert enclosed(values, expected, slack=1e-5)
    law = chain_law(pair, remove=remove, side=Side.UPPER, fineness=1.0, tail=tail)
    assert tail / 10 < law.charge < 100 * tail
    if remove:
        assert values[-1, 1] - law.charge < expected[-1] or tail < 1e-3
        assert law.q @ law.s + law.charge >= 1.0
    else:
        assert law.q.sum() + law.charge >= 1.0 - 1e-12


# The roundings.


@pytest.mark.parametrize("remove", DIRECTIONS)
@pytest.mark.parametrize("tail", [0.3, 1e-3, 1e-12])
def test_independent_factors_keep_mass_and_mean(tail, remove):
    """However short their lattice: what lies below it is split with 0, what lies above charged."""
    task = Task(mixture(own=0.7), remove, Side.UPPER, 1.0, tail)
    parts = own_parts(task, 0.8)
    assert parts.weights.sum() == pytest.approx(1.0, rel=1e-13)
    assert parts.factor @ parts.weights + parts.over == pytest.approx(1.0, rel=1e-12)
    assert parts.weights.min() >= 0.0


@pytest.mark.slow
def test_low_sums_are_told_apart_when_adding():
    """At very low noise nearly all sums are far below their mean, and grids must follow them."""
    pair = mixture(chain=20.0, own=2.0, bins=60)
    found = bounds(pair, [2.0, 4.0, 6.0], remove=False, fineness=0.75, tail=1e-9)
    assert np.all(found[:, 1] < 1.3 * found[:, 0])


@pytest.mark.slow
def test_rounding_states_by_their_mean_is_unsound_when_adding(monkeypatch):
    """It reports less than the proven lower bound: LR is convex in x, and F decreases."""
    pair = mixture(bins=40, chain=1.5, rho=0.6)
    ((lower, _),) = bounds(pair, [0.1], remove=False, fineness=0.5, tail=1e-9)
    # Coarse states, fine sums: what the sums add on top must not hide it.
    coarse = {"fineness": 2.0, "tail": 1e-9, "lattices": replace(LATTICES, sum_step=0.05)}
    ((_, sound),) = bounds(pair, [0.1], remove=False, **coarse)
    monkeypatch.setattr(Task, "exponent", lambda self, amplitude: None)
    ((_, naive),) = bounds(pair, [0.1], remove=False, **coarse)
    assert naive < 0.95 * lower
    assert sound > lower


@pytest.mark.slow
@pytest.mark.parametrize("remove", DIRECTIONS)
@pytest.mark.parametrize("beside", [None, 0])
def test_both_sides_converge_with_order_two(beside, remove):
    """Halving the steps divides the errors by nearly four, and no error grows."""
    pair = mixture(common=0.1, chain=0.8, beside=beside, rho=0.6, amplitudes=[1.0, 0.8, 0.5])
    epsilons = [0.3, 1.5]
    expected = np.array([exact(pair.gram(), e, remove=remove) for e in epsilons])
    steps = (0.8, 0.4, 0.2)
    errors = [
        np.abs(bounds(pair, epsilons, remove=remove, fineness=f, tail=1e-9) / expected[:, None] - 1)
        for f in steps
    ]
    for coarse, fine in pairwise(errors):
        assert np.all(fine < coarse)
    order = np.log(errors[0] / errors[-1]) / math.log(steps[0] / steps[-1])
    assert np.all(order >= 1.8), order
