"""Normal variables on a lattice: moments are kept, far cells are accurate, the order is right."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy.special import ndtr

from hockeystick.analyses.gram.law.state_lattices import (
    SHRINKAGE,
    aliasing,
    beyond,
    cell_masses,
    excess_growth,
    merged,
    rounded,
    sampled,
    sampled_beyond,
    widest_sampling,
)
from in_one_test import in_one_test

WIDE = 40.0  # so many standard deviations that nothing lies beyond
MEANS = np.array([-0.7, 0.0, 0.31, 2.0])


def lattice(step, *, variance=1.0, shift=0.123):
    """Nodes that reach WIDE standard deviations beyond all means."""
    reach = WIDE * math.sqrt(variance) + np.abs(MEANS).max()
    return shift * step + step * np.arange(-math.ceil(reach / step), math.ceil(reach / step) + 1)


@in_one_test
@pytest.mark.parametrize("variance", [1e-6, 0.04, 1.0, 9.0])
@pytest.mark.parametrize("step", [0.05, 0.5, 3.0])
def test_rows_keep_mass_and_mean(variance, step):
    """Rounding by the mean: rows sum to one, and the mean of Y is that of the row."""
    nodes = lattice(step, variance=variance)
    rows = rounded(MEANS, variance, nodes, exponent=None)
    assert rows.min() >= 0.0
    np.testing.assert_allclose(rows.sum(axis=1), 1.0, rtol=1e-13)
    scale = math.sqrt(variance) + step
    np.testing.assert_allclose((rows @ nodes - MEANS) / scale, 0.0, atol=1e-12)


@in_one_test
@pytest.mark.parametrize("variance", [1e-6, 0.04, 1.0, 9.0])
@pytest.mark.parametrize("step", [0.05, 0.5, 3.0])
@pytest.mark.parametrize("exponent", [1.0, 0.3])
def test_rows_keep_mass_and_exponential_mean(variance, step, exponent):
    """Rounding by the mean of the exponential: E e^(aY) = e^(a mean + a^2 variance / 2)."""
    nodes = lattice(step, variance=variance)
    rows = rounded(MEANS, variance, nodes, exponent=exponent)
    assert rows.min() >= 0.0
    np.testing.assert_allclose(rows.sum(axis=1), 1.0, rtol=1e-13)
    expected = np.exp(exponent * MEANS + exponent**2 * variance / 2)
    np.testing.assert_allclose(rows @ np.exp(exponent * nodes), expected, rtol=1e-11)


def test_the_two_roundings_differ():
    """Keeping the mean of e^Y puts less on the upper nodes: e^y is below its chord."""
    nodes = lattice(1.0)
    by_mean = rounded(MEANS, 1.0, nodes, exponent=None) @ nodes
    by_exponential = rounded(MEANS, 1.0, nodes, exponent=1.0) @ nodes
    assert np.all(by_exponential < by_mean - 0.05)


def test_mass_beyond_the_ends_is_left_out():
    """Row sums and the two tails make one; nothing is moved to the end nodes."""
    nodes = np.linspace(-0.8, 1.1, 6)
    low, high = beyond(MEANS, 0.5, low=nodes[0], high=nodes[-1])
    for exponent in (None, 1.0):
        rows = rounded(MEANS, 0.5, nodes, exponent=exponent)
        np.testing.assert_allclose(rows.sum(axis=1) + low + high, 1.0, rtol=1e-14)
    np.testing.assert_allclose(low, ndtr((nodes[0] - MEANS) / math.sqrt(0.5)), rtol=1e-14)


@pytest.mark.parametrize("exponent", [None, 1.0, 0.4])
def test_merged_cells_sit_at_their_barycentres(exponent):
    """Masses, and the mean of Y or of e^(aY) within every cell, against quadrature."""
    nodes = np.array([-3.0, -1.5, -1.0, 0.0, 0.2, 2.5])
    variance = 0.7
    value, mass = merged(variance, nodes, exponent=exponent)
    for low, high, at, weight in zip(nodes[:-1], nodes[1:], value, mass, strict=True):
        y = np.linspace(low, high, 20_001)
        density = np.exp(-(y**2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)
        total = np.trapezoid(density, y)
        assert weight == pytest.approx(total, rel=1e-7)
        if exponent is None:
            assert at == pytest.approx(np.trapezoid(density * y, y) / total, rel=1e-6)
        else:
            grown = np.trapezoid(density * np.exp(exponent * y), y) / total
            assert math.exp(exponent * at) == pytest.approx(grown, rel=1e-7)


@in_one_test
@pytest.mark.parametrize("exponent", [None, 1.0, 0.4])
@pytest.mark.parametrize("edge", [-30.0, -12.0, -5.0, 4.0, 11.0, 29.0])
@pytest.mark.parametrize("width", [0.02, 0.9])
def test_far_cells_keep_their_relative_accuracy(exponent, edge, width):
    """Mass and upper share of cells down to 1e-200, against sixty digits."""
    mean, variance = 0.3, 1.44
    nodes = np.array([edge, edge + width]) * 1.2 + mean
    mass, up = cell_masses(np.array([mean]), variance, nodes, exponent=exponent)
    with mpmath.workdps(60):
        low, high, m, sd = (mpmath.mpf(v) for v in (*nodes, mean, math.sqrt(variance)))
        a, b = (low - m) / sd, (high - m) / sd
        expected = mpmath.ncdf(b) - mpmath.ncdf(a)
        if exponent is None:
            moment = (m - low) * expected + sd * (mpmath.npdf(a) - mpmath.npdf(b))
            share = moment / (high - low)
        else:
            t = mpmath.mpf(exponent)
            tilted = mpmath.ncdf(b - t * sd) - mpmath.ncdf(a - t * sd)
            grown = mpmath.exp(t * (m - low) + (t * sd) ** 2 / 2) * tilted
            share = (grown - expected) / mpmath.expm1(t * (high - low))
    assert mass[0, 0] == pytest.approx(float(expected), rel=1e-10)
    assert up[0, 0] == pytest.approx(float(share), rel=1e-7)


@in_one_test
@pytest.mark.parametrize("variance", [1e-4, 1.0, 20.0])
@pytest.mark.parametrize("high", [-1.0, 0.5, 9.0])
def test_excess_growth_against_fifty_digits(variance, high):
    """E(e^(Y - high) - 1)+ in closed form, where it does not underflow."""
    (value,) = excess_growth(np.array([0.2]), variance, high)
    with mpmath.workdps(50):
        sd, gap = mpmath.sqrt(mpmath.mpf(variance)), mpmath.mpf(0.2) - mpmath.mpf(high)
        grown = mpmath.exp(gap + sd**2 / 2) * mpmath.ncdf(gap / sd + sd)
        expected = float(grown - mpmath.ncdf(gap / sd))
    assert value == pytest.approx(expected, rel=1e-10)


def calls(values, weights, strikes):
    """E(V - k)+ for each strike."""
    return np.maximum(values - strikes[:, None], 0.0) @ weights


def normal_calls(variance, strikes):
    """E(Y - k)+ for Y ~ N(0, variance)."""
    z = strikes / math.sqrt(variance)
    density = np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    return math.sqrt(variance) * (density - z * ndtr(-z))


def lognormal_calls(variance, strikes):
    """E(e^Y - k)+ for Y ~ N(0, variance)."""
    sd = math.sqrt(variance)
    d = -np.log(strikes) / sd
    return math.exp(variance / 2) * ndtr(d + sd) - strikes * ndtr(d)


@in_one_test
@pytest.mark.parametrize("step", [0.2, 0.9, 1.5])
@pytest.mark.parametrize("shift", [0.0, 0.25, 0.5])
def test_rounding_encloses_the_normal_in_convex_order(step, shift):
    """Calls of the rounded law are above, and with the reduced variance below, at every strike."""
    nodes = lattice(step, shift=shift)
    strikes = np.linspace(-4.0, 4.0, 161)
    exact = normal_calls(1.0, strikes)
    (upper,) = rounded(np.zeros(1), 1.0, nodes, exponent=None)
    (lower,) = rounded(np.zeros(1), 1.0 - SHRINKAGE * step**2, nodes, exponent=None)
    assert np.all(calls(nodes, upper, strikes) >= exact * (1 - 1e-9))
    assert np.all(calls(nodes, lower, strikes) <= exact * (1 + 1e-9))


@in_one_test
@pytest.mark.parametrize("step", [0.2, 0.9, 1.5])
@pytest.mark.parametrize("shift", [0.0, 0.25, 0.5])
def test_rounding_encloses_the_lognormal_in_convex_order(step, shift):
    """The same for e^Y, whose mean is kept when the variance is reduced."""
    nodes = lattice(step, shift=shift)
    strikes = np.exp(np.linspace(-4.0, 4.0, 161))
    exact = lognormal_calls(1.0, strikes)
    taken = SHRINKAGE * step**2
    (upper,) = rounded(np.zeros(1), 1.0, nodes, exponent=1.0)
    (lower,) = rounded(np.full(1, taken / 2), 1.0 - taken, nodes, exponent=1.0)
    assert np.all(calls(np.exp(nodes), upper, strikes) >= exact * (1 - 1e-9))
    assert np.all(calls(np.exp(nodes), lower, strikes) <= exact * (1 + 1e-9))


@pytest.mark.parametrize("share", [1.0, 0.95])
def test_shrinkage_is_sharp(share):
    """All of the variance taken, half-way between two nodes: equality, or no bound with less."""
    nodes = lattice(1.0, shift=0.5)
    taken = share * SHRINKAGE
    (weights,) = rounded(np.zeros(1), taken * 1e-9, nodes, exponent=None)
    ratio = calls(nodes, weights, np.zeros(1)) / normal_calls(taken * (1 + 1e-9), np.zeros(1))
    assert ratio[0] == pytest.approx(1 / math.sqrt(share), rel=1e-8)


@pytest.mark.parametrize("most", [1e-9, 1e-6, 1e-2, 0.5])
@pytest.mark.parametrize("smooth", [0.01, 0.3, 5.0])
@pytest.mark.parametrize("variance", [0.04, 1.0, 3.0])
def test_sampled_densities_are_right_up_to_aliasing(variance, smooth, most):
    """For a step convolved with N(0, smooth): Pr[Y + Z > t] up to 1 +- aliasing, far tails too.

    For two far apart steps the error is nearly attained, so that the bound cannot be much smaller.
    """
    step = float(widest_sampling(np.array(variance), np.array(smooth), most))
    share = aliasing(variance, smooth, step)
    assert share == pytest.approx(most, rel=0.1)
    nodes = lattice(step, variance=variance + smooth)
    rows = sampled(MEANS, variance, nodes)
    total = math.sqrt(variance + smooth)
    for t in np.linspace(-6.0, 25.0, 40) * total:
        found = rows @ ndtr((nodes - t) / math.sqrt(smooth))
        expected = ndtr((MEANS - t) / total)
        assert (np.abs(found / expected - 1) <= share + 1e-12).all()
    # A function that is concentrated in one place: phi_smooth(x - t), for t on and between nodes.
    t = MEANS[:, None] + step * np.linspace(0.0, 1.0, 21)
    kernel = np.exp(-((nodes[:, None, None] - t) ** 2) / (2 * smooth)) / math.sqrt(smooth)
    found = np.einsum("mk,kmt->mt", rows, kernel)
    expected = np.exp(-((t - MEANS[:, None]) ** 2) / (2 * total**2)) / total
    error = np.abs(found / expected - 1)
    assert error.max() <= share + 1e-12
    assert error.max() >= 0.5 * share - 1e-11


@pytest.mark.parametrize("variance", [0.04, 1.0, 3.0])
@pytest.mark.parametrize("ends", [(-1.0, 1.2), (0.1, 0.8), (-3.0, 4.0)])
def test_nodes_beyond_the_ends_are_bounded(ends, variance):
    """Sums over all nodes that a short lattice lacks are below what is charged, and not far."""
    step = 0.3 * math.sqrt(variance)
    nodes = np.arange(ends[0], ends[1] + step, step)
    more = 200
    low = nodes[0] - step * np.arange(1, more)
    high = nodes[-1] + step * np.arange(1, more)
    below, above, grown = sampled_beyond(MEANS, variance, nodes)
    scale = step / math.sqrt(2 * math.pi * variance)
    density = [scale * np.exp(-((x - MEANS[:, None]) ** 2) / (2 * variance)) for x in (low, high)]
    assert (density[0].sum(axis=1) <= below * (1 + 1e-12)).all()
    assert (density[1].sum(axis=1) <= above * (1 + 1e-12)).all()
    growth = (density[1] * np.expm1(high - nodes[-1])).sum(axis=1)
    assert (growth <= grown * (1 + 1e-12)).all()
    assert (below <= density[0].sum(axis=1) + 2 * scale).all()
    assert (above <= density[1].sum(axis=1) + 2 * scale).all()
