"""Sums of which neighbours share variables: both sides against quadrature, draws and a twin."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from hockeystick._numerics.law import Side
from hockeystick.analyses.gram.law.chain_mixture import ChainMixture, Task
from hockeystick.analyses.gram.law.moving_sums import moving_sum_law, moving_work
from hockeystick.analyses.gram.law.partial_sums import sum_law
from hockeystick.analyses.gram.order.moving_average import (
    MovingAverage,
    few_bands_above,
    few_bands_below,
    two_bands,
)
from references.sum_law import assert_order_two, band, bounds, delta, enclosed, exact, ratios

DIRECTIONS = [True, False]
EPSILONS = [-0.5, 0.0, 0.5, 1.5]


def moving(here, ahead, *, common=0.0, ring=False):
    """A moving average with the given factors."""
    return MovingAverage(common, np.column_stack((here, ahead)).astype(float), ring)


def wider(factors, *, common=0.0):
    """A moving average on a line with a row of factors for each bin."""
    return MovingAverage(common, np.array(factors, float), ring=False)


THREE = {
    "line": moving([0.9, 0.8, 0.5], [0.3, 0.4, 0.7], common=0.1),
    "ring": moving([0.9, 0.8, 0.5], [0.3, 0.4, 0.7], ring=True),
    "one link missing": moving([0.9, 0.8, 0.6], [0.3, 0.0, 0.7], ring=True),
    "hardly any signal": moving([1e-5, 1e-5, 1e-5], [1e-5, 1e-5, 1e-5]),
    "loud": moving([1.5, 2.0, 1.0], [1.0, 1.2, 0.3]),
    "ahead is larger": moving([0.2, 0.3, 0.4], [0.9, 0.8, 1.0], ring=True),
    "three bands": wider([[0.6, 0.4, 0.3], [0.7, 0.5, 0.2], [0.5, 0.1, 0.8]], common=0.1),
    "some missing": wider([[0.9, 0.0, 0.7], [0.4, 0.6, 0.0], [0.0, 0.3, 0.5]]),
    "four bands": wider([[0.6, 0.3, 0.2, 0.4], [0.5, 0.3, 0.4, 0.0], [0.8, 0.5, 0.0, 0.1]]),
}


@pytest.mark.slow
@pytest.mark.parametrize("remove", DIRECTIONS)
@pytest.mark.parametrize("fineness", [20.0, 3.0, 1.2])
@pytest.mark.parametrize("name", THREE)
def test_three_bins_are_enclosed(name, fineness, remove):
    """Whatever the steps: lower <= quadrature <= upper."""
    pair = THREE[name]
    scale = math.sqrt(pair.gram().max())
    epsilons = [scale * e for e in (-0.5, 0.0, 0.5, 1.5)]
    expected = [exact(pair.gram(), e, remove=remove) for e in epsilons]
    values = bounds(moving_sum_law, pair, epsilons, remove=remove, fineness=fineness)
    assert enclosed(values, expected, slack=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("remove", DIRECTIONS)
@pytest.mark.parametrize("name", ["line", "ring", "three bands"])
@pytest.mark.parametrize("tail", [0.3, 1e-3])
def test_short_lattices_are_charged(tail, name, remove):
    """However much lies beyond the ends, the bounds stay on their sides; the charge is needed."""
    pair = replace(THREE[name], common=0.0)
    epsilons = [-0.5, 0.0, 0.5, 1.5, 3.0]
    expected = [exact(pair.gram(), e, remove=remove) for e in epsilons]
    values = bounds(moving_sum_law, pair, epsilons, remove=remove, tail=tail)
    assert enclosed(values, expected, slack=1e-5)
    law = moving_sum_law(pair, remove=remove, side=Side.UPPER, fineness=1.0, tail=tail)
    assert law.charge > tail / 100
    if not remove:
        assert law.q.sum() + law.charge == pytest.approx(1.0, rel=1e-12)
    elif tail > 0.1:
        assert values[-1, 1] - law.charge < expected[-1]


@pytest.mark.parametrize("remove", DIRECTIONS)
@pytest.mark.parametrize("side", list(Side))
def test_everything_may_leave_the_lattice(remove, side):
    """Loud terms and a tail of a third: no sums are left, and what is said is still a bound."""
    pair = moving([3.0] * 3, [3.0] * 3, ring=True)
    law = moving_sum_law(pair, remove=remove, side=side, fineness=2.0, tail=0.3)
    found = delta(law, 0.0, 0.5, remove=remove)
    assert found >= 0.9 if side is Side.UPPER else found <= 1.0


def random_moving(rng):
    """Three to six bins on a line or a ring, some factors zero; a third have three bands."""
    bins = int(rng.integers(3, 7))
    if rng.random() < 1 / 3:
        factors = 10 ** rng.uniform(-1.0, 0.1, (bins, 3))
        return wider(factors * (rng.random((bins, 3)) < 0.8))
    here, ahead = 10 ** rng.uniform(-1.0, 0.2, (2, bins))
    ahead *= rng.random(bins) < 0.8
    common = float(rng.choice([0.0, rng.uniform(0.01, 0.5)]))
    return moving(here, ahead, common=common, ring=bool(rng.random() < 0.5))


@pytest.mark.slow
@pytest.mark.parametrize("remove", DIRECTIONS)
def test_random_ones_agree_with_simulation(remove):
    """Fifteen of them, steps from moderate to absurd: no bound on the wrong side of the band."""
    rng = np.random.default_rng(9)
    draws, which = rng.standard_normal((40_000, 6)), rng.random(40_000)
    told = 0
    for _ in range(15):
        pair = random_moving(rng)
        epsilons = rng.uniform([-1.0, 0.0, 0.5], [0.0, 0.5, 2.0])
        gram = pair.gram() + 1e-12 * np.eye(pair.bins)
        ratio = ratios(gram, draws, which, remove=remove)
        low, high = np.array([band(ratio, e, remove=remove) for e in epsilons]).T
        for fineness in (3.0, 1.2):
            values = bounds(
                moving_sum_law, pair, epsilons, remove=remove, fineness=fineness, tail=1e-6
            )
            assert np.all(values[:, 0] <= high), (pair, fineness)
            assert np.all(values[:, 1] >= low), (pair, fineness)
        told += int(np.sum(low > 0))
    assert told > 15


@pytest.mark.slow
@pytest.mark.parametrize("remove", DIRECTIONS)
@pytest.mark.parametrize("name", ["line", "three bands"])
def test_both_sides_converge_with_order_two(name, remove):
    """Halving the steps divides the errors by nearly four, and they close in on quadrature."""
    pair = THREE[name]
    expected = np.array([exact(pair.gram(), e, remove=remove) for e in (0.3, 1.0)])
    options = {"remove": remove, "tail": 1e-9, "steps": (0.8, 0.4, 0.2)}
    assert_order_two(moving_sum_law, pair, (0.3, 1.0), expected=expected, **options)


@pytest.mark.slow
def test_rounding_by_the_mean_is_unsound_when_adding(monkeypatch):
    """It reports less than the proven lower bound, as for chains."""
    pair = moving([1.0] * 30, [0.8] * 30)
    law = {"remove": False, "tail": 1e-9}
    ((lower, _),) = bounds(moving_sum_law, pair, [0.1], fineness=0.6, **law)
    monkeypatch.setattr("hockeystick.analyses.gram.law.sum_grid.SUM_STEP", 0.1)
    ((_, sound),) = bounds(moving_sum_law, pair, [0.1], fineness=2.5, **law)
    monkeypatch.setattr(Task, "exponent", lambda self, i: None)
    ((_, naive),) = bounds(moving_sum_law, pair, [0.1], fineness=2.5, **law)
    assert naive < lower < sound


@pytest.mark.slow
def test_rounding_by_the_fastest_term_is_unsound_when_removing(monkeypatch):
    """The slowest term decides which mean may be kept: by the fastest, upper bounds are too low."""
    pair = wider([[0.0, 0.0, 0.2], [0.0, 0.2, 0.0], [1.0, 0.0, 0.0]])
    epsilons = np.linspace(-0.2, 1.0, 41)
    expected = [exact(pair.gram() + 1e-9 * np.eye(3), e, remove=True) for e in epsilons]
    law = {"remove": True, "fineness": 3.0, "tail": 1e-9}
    monkeypatch.setattr("hockeystick.analyses.gram.law.sum_grid.SUM_STEP", 0.02)
    sound = bounds(moving_sum_law, pair, epsilons, **law)[:, 1]
    monkeypatch.setattr(MovingAverage, "slowest", property(lambda self: np.ones(self.bins + 2)))
    naive = bounds(moving_sum_law, pair, epsilons, **law)[:, 1]
    assert np.all(sound >= expected)
    assert np.any(naive < 0.99 * np.array(expected))


@pytest.mark.parametrize("side", list(Side))
def test_keeping_the_mean_of_the_slowest_term_is_closer(monkeypatch, side):
    """When removing, both bounds are nearer to each other than if the mean of Z is kept."""
    pair = moving([1.0] * 10, [0.7] * 10)
    law = {"remove": True, "side": side, "fineness": 1.5, "tail": 1e-9}
    close = delta(moving_sum_law(pair, **law), 0.0, 0.3, remove=True)
    monkeypatch.setattr("hockeystick.analyses.gram.law.moving_sums.SLOW", 2.0)
    far = delta(moving_sum_law(pair, **law), 0.0, 0.3, remove=True)
    assert close < far if side is Side.UPPER else close > far


def twin(pair, *, law, nodes=41, reach=6.0):
    """delta at several epsilons by all paths over a plain grid of states: nothing is rounded.

    Trapezoidal in every variable, sums kept one by one; for three bins.
    """
    z = np.linspace(-reach, reach, nodes)
    weight = np.exp(-z * z / 2)
    weight /= weight.sum()
    total, mass = np.zeros((1, nodes)), weight[None, :]
    for i in range(pair.bins):
        here, ahead = pair.factors[i]
        term = np.add.outer(here * z, ahead * z) - pair.variances[i] / 2
        grown = total[:, :, None] + np.exp(term)[None] / pair.bins
        spread = mass[:, :, None] * weight
        total, mass = grown.reshape(-1, nodes), spread.reshape(-1, nodes)
    gain = [
        np.maximum(total - math.exp(e) if law["remove"] else 1 - math.exp(e) * total, 0.0)
        for e in EPSILONS
    ]
    return np.array([float((one * mass).sum()) for one in gain])


@pytest.mark.parametrize("remove", DIRECTIONS)
def test_the_slow_obvious_twin(remove):
    """All paths over a plain grid, sums never rounded: between the bounds, and close to both."""
    pair = moving([0.6, 0.5], [0.3, 0.4])
    expected = twin(pair, law={"remove": remove})
    values = bounds(moving_sum_law, pair, EPSILONS, remove=remove, fineness=0.3, tail=1e-9)
    assert enclosed(values, expected, slack=1e-3)
    np.testing.assert_allclose(values[:3] / expected[:3, None], 1.0, rtol=0.02)


@pytest.mark.parametrize("remove", DIRECTIONS)
def test_without_neighbours_it_is_a_chain_without_memory(remove):
    """Independent terms, from two recursions: each one's lower bound is below the other's upper."""
    bins = 5
    alone = moving([0.9] * bins, [0.0] * bins)
    chain = ChainMixture(0.0, 0.81, 0.0, 0.0, np.ones(bins), ring=False)
    first = bounds(moving_sum_law, alone, EPSILONS, remove=remove, fineness=0.5)
    second = bounds(sum_law, chain, EPSILONS, remove=remove, fineness=0.5)
    assert np.all(first[:, 0] <= second[:, 1])
    assert np.all(second[:, 0] <= first[:, 1])
    np.testing.assert_allclose(first[:3, 1] / second[:3, 1], 1.0, rtol=0.03)


# Factors of a matrix with two bands.


def banded(rng, *, ring):
    """A random matrix with two bands, and the factors it was made of."""
    bins = int(rng.integers(3, 12))
    here, ahead = rng.uniform(0.5, 1.0, bins), rng.uniform(0.05, 0.45, bins)
    if not ring:
        ahead[-1] = 0.0
    return moving(here, ahead, ring=ring).gram()


@pytest.mark.parametrize("ring", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_factors_enclose_the_matrix(seed, ring):
    """The one above is nowhere smaller, the one below nowhere larger, and both are close."""
    kernel = banded(np.random.default_rng([ring, seed]), ring=ring)
    above, below = two_bands(kernel)
    rounding = 1e-13 * kernel.max()
    assert np.all(above.gram() >= kernel - rounding)
    assert np.all(below.gram() <= kernel + rounding)
    np.testing.assert_allclose(above.gram(), below.gram(), rtol=1e-9, atol=rounding)
    opened = below.cut_open()
    assert not opened.closes
    assert np.all(opened.gram() <= kernel + rounding)


@pytest.mark.parametrize(
    "kernel",
    [
        np.ones((4, 4)),
        np.eye(5) + 0.1 * np.eye(5, k=2) + 0.1 * np.eye(5, k=-2),
        np.array([[1.0, 0.9, 0.0, 0.9], [0.9, 1, 0.9, 0], [0, 0.9, 1, 0.9], [0.9, 0, 0.9, 1]]),
        np.eye(1),
    ],
)
def test_other_matrices_have_no_factors(kernel):
    """Further bands, neighbours too close for two, or a single bin."""
    assert two_bands(kernel) is None


def triangular(rng, bins, bands):
    """A matrix with so many bands on a line, made of factors without a variable beyond its end."""
    factors = np.triu(np.tril(rng.uniform(0.1, 1.0, (bins, bins)), bands - 1))
    return factors @ factors.T


@pytest.mark.parametrize("bands", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", range(4))
def test_few_bands_enclose_the_matrix(seed, bands):
    """Just above and just below; with fewer bands allowed there is nothing above."""
    kernel = triangular(np.random.default_rng([bands, seed]), 9, bands)
    above, below = few_bands_above(kernel, 4), few_bands_below(kernel, 4)
    assert above.bands == below.bands == max(bands, 2)
    for pair in (above, below):
        np.testing.assert_allclose(pair.gram(), kernel, rtol=1e-9, atol=1e-12)
    assert np.all(np.diagonal(above.gram()) > np.diagonal(kernel))
    assert np.all(np.diagonal(below.gram()) < np.diagonal(kernel))
    if bands > 1:
        assert few_bands_above(kernel, bands - 1) is None


def test_a_ring_is_cut_open_below_and_has_nothing_above():
    """What bins have in common across the end is left out, and no more."""
    lags = np.array([1.5, 0.8, 0.5, 0.0, 0.0, 0.0, 0.0, 0.5, 0.8])
    i = np.arange(9)
    kernel = lags[np.abs(i[:, None] - i)]
    assert few_bands_above(kernel, 4) is None
    below = few_bands_below(kernel, 4).gram()
    near = np.abs(i[:, None] - i) < 3
    np.testing.assert_allclose(below[near], kernel[near], rtol=1e-9)
    assert not below[~near].any()


@pytest.mark.parametrize(
    "kernel",
    [
        np.ones((4, 4)),
        np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.9], [0.0, 0.9, 1.0]]),
        np.array([[1.0, 0.1, 0.4], [0.1, 1.0, 0.9], [0.4, 0.9, 1.0]]),
    ],
)
def test_matrices_without_factors(kernel):
    """Singular, not positive definite, or with a negative factor."""
    assert few_bands_above(kernel, 4) is None


@pytest.mark.parametrize(("bands", "ring"), [(1, False), (3, True)])
def test_other_numbers_of_bands_are_refused(bands, ring):
    """The recursion keeps at least one variable, and closes a ring over one."""
    with pytest.raises(ValueError, match="two bands"):
        MovingAverage(0.0, np.ones((5, bands)), ring=ring)


def test_work_grows_with_the_power_of_the_bands():
    """One more band costs as much as there are nodes."""
    law = {"remove": True, "side": Side.UPPER, "fineness": 1.0, "tail": 1e-9}
    costs = [moving_work(wider(np.full((10, p), 0.5)), **law) for p in (2, 3, 4)]
    ratios_of_costs = np.divide(costs[1:], costs[:-1])
    assert np.ptp(ratios_of_costs) == pytest.approx(0.0, abs=1e-9)
    assert 10 < ratios_of_costs[0] < 60


def test_a_law_without_charge_keeps_its_mean():
    """The upper law of removing has at least the mean 1, the lower one at most."""
    pair = THREE["ring"]
    upper, lower = (
        moving_sum_law(pair, remove=True, side=side, fineness=1.0, tail=1e-9)
        for side in (Side.UPPER, Side.LOWER)
    )
    assert upper.q @ upper.s >= 1 - 1e-9
    assert lower.q @ lower.s <= 1 + 1e-12
    assert delta(upper, 0.0, 0.0, remove=True) > delta(lower, 0.0, 0.0, remove=True)
