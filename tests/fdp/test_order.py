"""Blackwell order, calibration points and the Delta-divergence."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from hockeystick.fdp import (
    Order,
    TradeOff,
    blackwell_order,
    calibration_points,
    delta_divergence,
    distance,
    from_pmfs,
    gdp,
    greatest_lower_bound,
)
from hypothesis_strategies import pairs, quick

ALPHA = np.linspace(0.0, 1.0, 2001)
Pair = tuple[list[float], list[float]]
# Pure DP with a large loss against a small chance of total failure: they cross twice.
PURE = from_pmfs([0.5, 0.3, 0.2], [0.2, 0.3, 0.5])
FAILING = from_pmfs([0.1, 0.9, 0.0], [0.0, 0.9, 0.1])


def test_order_of_gaussian_polygons() -> None:
    """The larger mu is less private; equal curves are equal."""
    small, large = gdp(0.5).polygon(), gdp(1.0).polygon()
    assert blackwell_order(small, large) is Order.LARGER
    assert blackwell_order(large, small) is Order.SMALLER
    assert blackwell_order(large, gdp(1.0).polygon()) is Order.EQUAL
    assert calibration_points(small, large).gamma.size == 0


@given(first=pairs(), second=pairs())
@quick
def test_order_agrees_with_a_fine_grid(first: Pair, second: Pair) -> None:
    """Whatever the corners say holds between them."""
    f, g = from_pmfs(*first), from_pmfs(*second)
    gap = f(ALPHA) - g(ALPHA)
    order = blackwell_order(f, g)
    if order in (Order.LARGER, Order.EQUAL):
        assert np.all(gap >= -1e-9)
    if order in (Order.SMALLER, Order.EQUAL):
        assert np.all(gap <= 1e-9)
    if np.any(gap > 1e-9) and np.any(gap < -1e-9):
        assert order is Order.NONE


def test_calibration_points_are_crossings() -> None:
    """There the curves agree, and on both sides they differ in opposite ways."""
    assert blackwell_order(PURE, FAILING) is Order.NONE
    points = calibration_points(PURE, FAILING)
    one, other = PURE.curve(), FAILING.curve()
    assert points.gamma == pytest.approx([0.5, 2.0], rel=1e-12)
    for gamma in points.gamma:
        before, at, after = (one(gamma * s) - other(gamma * s) for s in (0.95, 1.0, 1.05))
        assert abs(at) < 1e-12
        assert before * after < 0
    for alpha in points.alpha:
        before, at, after = (PURE(alpha + s) - FAILING(alpha + s) for s in (-0.01, 0.0, 0.01))
        assert abs(at) < 1e-12
        assert before * after < 0
    assert points.alpha.size >= 1


def brute_divergence(first: TradeOff, second: TradeOff) -> float:
    """The definition, by bisection on a fine grid."""
    low, high = 0.0, 1.0
    while high - low > 1e-9:
        shift = (low + high) / 2
        moved = first(np.minimum(ALPHA + shift, 1.0)) - shift
        low, high = (low, shift) if np.all(moved <= second(ALPHA) + 1e-15) else (shift, high)
    return high


@given(first=pairs(), second=pairs())
@quick
def test_the_divergence_is_the_smallest_shift(first: Pair, second: Pair) -> None:
    """A grid finds no larger one, and hardly a smaller one."""
    f, g = from_pmfs(*first), from_pmfs(*second)
    exact = delta_divergence(f, g)
    coarse = brute_divergence(f, g)
    assert coarse <= exact + 1e-8
    assert exact - coarse < 1e-3
    if blackwell_order(f, g) in (Order.SMALLER, Order.EQUAL):
        assert exact < 1e-9


@given(first=pairs(), second=pairs(), third=pairs())
@quick
def test_the_distance_is_a_metric(first: Pair, second: Pair, third: Pair) -> None:
    """Symmetric, zero from a curve to itself, and with the triangle inequality."""
    f, g, h = (from_pmfs(*pair) for pair in (first, second, third))
    assert distance(f, f) == 0.0
    assert distance(f, g) == distance(g, f)
    assert distance(f, h) <= distance(f, g) + distance(g, h) + 1e-12
    assert delta_divergence(greatest_lower_bound([f, g]), f) < 1e-12
