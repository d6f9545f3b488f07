"""Sums of which neighbours share variables: both sides against quadrature, draws and all paths."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from hockeystick._numerics.law import Side
from hockeystick.analyses.gram.law import LATTICES, Task
from hockeystick.analyses.gram.law.moving_sums import moving_work
from hockeystick.analyses.gram.order.chains import ChainMixture
from hockeystick.analyses.gram.order.moving_average import MovingAverage
from hypothesis_strategies import thinned
from references.sum_law import (
    assert_order_two,
    band,
    bounds,
    chain_law,
    delta,
    enclosed,
    exact,
    moving_law,
    ratios,
)

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
    "low noise": moving([1.5, 2.0, 1.0], [1.0, 1.2, 0.3]),
    "ahead is larger": moving([0.2, 0.3, 0.4], [0.9, 0.8, 1.0], ring=True),
    "three bands": wider([[0.6, 0.4, 0.3], [0.7, 0.5, 0.2], [0.5, 0.1, 0.8]], common=0.1),
    "some missing": wider([[0.9, 0.0, 0.7], [0.4, 0.6, 0.0], [0.0, 0.3, 0.5]]),
    "four bands": wider([[0.6, 0.3, 0.2, 0.4], [0.5, 0.3, 0.4, 0.0], [0.8, 0.5, 0.0, 0.1]]),
}


@pytest.mark.slow
@pytest.mark.parametrize("remove", DIRECTIONS)
@pytest.mark.parametrize("fineness", thinned([3.0, 20.0, 1.2], normal=1))
@pytest.mark.parametrize("name", THREE)
def test_three_bins_are_enclosed(name, fineness, remove):
    """Whatever the steps: lower <= quadrature <= upper."""
    pair = THREE[name]
    scale = math.sqrt(pair.gram().max())
    epsilons = [scale * e for e in (-0.5, 0.3, 1.5)]
    expected = [exact(pair.gram(), e, remove=remove) for e in epsilons]
    values = bounds(moving_law, pair, epsilons, remove=remove, fineness=fineness)
    assert enclosed(values, expected, slack=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("remove", DIRECTIONS)
@pytest.mark.parametrize("name", ["line", "ring", "three bands"])
@pytest.mark.parametrize("tail", thinned([0.3, 1e-3], normal=1))
def test_short_lattices_are_charged(tail, name, remove):
    """However much lies beyond the ends, the bounds stay on their sides; the charge is needed."""
    pair = replace(THREE[name], common=0.0)
    epsilons = [-0.5, 0.0, 0.5, 1.5, 3.0]
    expected = [exact(pair.gram(), e, remove=remove) for e in epsilons]
    values = bounds(moving_law, pair, epsilons, remove=remove, tail=tail)
    assert enclosed(values, expected, slack=1e-5)
    law = moving_law(pair, remove=remove, side=Side.UPPER, fineness=1.0, tail=tail)
    assert law.charge > tail / 100
    if not remove:
        assert law.q.sum() + law.charge == pytest.approx(1.0, rel=1e-12)
    elif tail > 0.1:
        assert values[-1, 1] - law.charge < expected[-1]


@pytest.mark.parametrize("remove", DIRECTIONS)
@pytest.mark.parametrize("side", list(Side))
def test_everything_may_leave_the_lattice(remove, side):
    """Low noise and a tail of a third: no sums are left, and what is said is still a bound."""
    pair = moving([3.0] * 3, [3.0] * 3, ring=True)
    law = moving_law(pair, remove=remove, side=side, fineness=2.0, tail=0.3)
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
    informative = 0
    for _ in range(15):
        pair = random_moving(rng)
        epsilons = rng.uniform([-1.0, 0.0, 0.5], [0.0, 0.5, 2.0])
        gram = pair.gram() + 1e-12 * np.eye(pair.bins)
        ratio = ratios(gram, draws, which, remove=remove)
        low, high = np.array([band(ratio, e, remove=remove) for e in epsilons]).T
        for fineness in (3.0, 1.2):
            values = bounds(moving_law, pair, epsilons, remove=remove, fineness=fineness, tail=1e-6)
            assert np.all(values[:, 0] <= high), (pair, fineness)
            assert np.all(values[:, 1] >= low), (pair, fineness)
        informative += int(np.sum(low > 0))
    assert informative > 15


@pytest.mark.slow
@pytest.mark.parametrize("remove", DIRECTIONS)
@pytest.mark.parametrize(
    ("name", "coarsest"), thinned([("line", 0.8), ("three bands", 1.1)], normal=1)
)
def test_both_sides_converge_with_order_two(name, coarsest, remove):
    """Halving the steps divides the errors by nearly four, and they close in on quadrature."""
    pair = THREE[name]
    expected = np.array([exact(pair.gram(), e, remove=remove) for e in (0.3, 1.0)])
    steps = (coarsest, coarsest / 2, coarsest / 4)
    options = {"remove": remove, "tail": 1e-9, "steps": steps}
    assert_order_two(moving_law, pair, (0.3, 1.0), expected=expected, **options)


@pytest.mark.slow
def test_rounding_by_the_mean_is_unsound_when_adding(monkeypatch):
    """It reports less than the proven lower bound, as for chains."""
    pair = moving([1.0] * 30, [0.8] * 30)
    law = {"remove": False, "tail": 1e-9}
    ((lower, _),) = bounds(moving_law, pair, [0.1], fineness=0.6, **law)
    coarse = {"fineness": 2.5, "lattices": replace(LATTICES, sum_step=0.1), **law}
    ((_, sound),) = bounds(moving_law, pair, [0.1], **coarse)
    monkeypatch.setattr(Task, "exponent", lambda self, i: None)
    ((_, naive),) = bounds(moving_law, pair, [0.1], **coarse)
    assert naive < lower < sound


@pytest.mark.slow
def test_rounding_by_the_fastest_term_is_unsound_when_removing(monkeypatch):
    """The slowest term decides which mean may be kept: by the fastest, upper bounds are too low."""
    pair = wider([[0.0, 0.0, 0.2], [0.0, 0.2, 0.0], [1.0, 0.0, 0.0]])
    epsilons = np.linspace(-0.2, 1.0, 41)
    expected = [exact(pair.gram() + 1e-9 * np.eye(3), e, remove=True) for e in epsilons]
    fine_sums = replace(LATTICES, state_step=0.5, sum_step=0.02)
    law = {"remove": True, "fineness": 3.0, "tail": 1e-9, "lattices": fine_sums}
    sound = bounds(moving_law, pair, epsilons, **law)[:, 1]
    monkeypatch.setattr(MovingAverage, "slowest", property(lambda self: np.ones(self.bins + 2)))
    naive = bounds(moving_law, pair, epsilons, **law)[:, 1]
    assert np.all(sound >= expected)
    assert np.any(naive < 0.99 * np.array(expected))


@pytest.mark.parametrize("side", list(Side))
def test_keeping_the_mean_of_the_slowest_term_is_closer(side):
    """When removing, both bounds are nearer to each other than if the mean of Z is kept."""
    pair = moving([1.0] * 10, [0.7] * 10)
    law = {"remove": True, "side": side, "fineness": 1.5, "tail": 1e-9}
    close = delta(moving_law(pair, **law), 0.0, 0.3, remove=True)
    mean_of_z = replace(LATTICES, least_exponent=2.0)
    far = delta(moving_law(pair, **law, lattices=mean_of_z), 0.0, 0.3, remove=True)
    assert close < far if side is Side.UPPER else close > far


def all_paths(pair, *, law, nodes=41, reach=6.0):
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
def test_all_paths_over_a_plain_grid(remove):
    """All paths over a plain grid, sums never rounded: between the bounds, and close to both."""
    pair = moving([0.6, 0.5], [0.3, 0.4])
    expected = all_paths(pair, law={"remove": remove})
    values = bounds(moving_law, pair, EPSILONS, remove=remove, fineness=0.3, tail=1e-9)
    assert enclosed(values, expected, slack=1e-3)
    np.testing.assert_allclose(values[:3] / expected[:3, None], 1.0, rtol=0.02)


@pytest.mark.parametrize("remove", DIRECTIONS)
def test_without_neighbours_it_is_a_chain_without_memory(remove):
    """Independent terms, from two recursions: each one's lower bound is below the other's upper."""
    bins = 5
    alone = moving([0.9] * bins, [0.0] * bins)
    chain = ChainMixture(0.0, 0.81, 0.0, 0.0, np.ones(bins))
    first = bounds(moving_law, alone, EPSILONS, remove=remove, fineness=0.5)
    second = bounds(chain_law, chain, EPSILONS, remove=remove, fineness=0.5)
    assert np.all(first[:, 0] <= second[:, 1])
    assert np.all(second[:, 0] <= first[:, 1])
    np.testing.assert_allclose(first[:3, 1] / second[:3, 1], 1.0, rtol=0.03)


def test_work_grows_with_the_power_of_the_bands():
    """One more band costs as much as there are nodes."""
    costs = [
        moving_work(Task(wider(np.full((10, p), 0.5)), True, Side.UPPER, 1.0, 1e-9))
        for p in (2, 3, 4)
    ]
    ratios_of_costs = np.divide(costs[1:], costs[:-1])
    assert np.ptp(ratios_of_costs) == pytest.approx(0.0, abs=1e-9)
    assert 10 < ratios_of_costs[0] < 60


def test_a_law_without_charge_keeps_its_mean():
    """The upper law of removing has at least the mean 1, the lower one at most."""
    pair = THREE["ring"]
    upper, lower = (
        moving_law(pair, remove=True, side=side, fineness=1.0, tail=1e-9)
        for side in (Side.UPPER, Side.LOWER)
    )
    assert upper.q @ upper.s >= 1 - 1e-9
    assert lower.q @ lower.s <= 1 + 1e-12
    assert delta(upper, 0.0, 0.0, remove=True) > delta(lower, 0.0, 0.0, remove=True)
