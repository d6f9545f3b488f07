"""Products and averages against enumeration of all pairs of atoms."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hockeystick._numerics.law import Law, Resolution, Side, subsample
from hockeystick.profile import convolution as products
from hockeystick.profile.convolution import average, compress, product
from hockeystick.profile.expressions.discrete import randomized_response
from hockeystick.profile.expressions.mechanisms import GaussianPair
from hypothesis_strategies import law_of, narrow_pairs, pairs, quick, thorough, wild_pairs
from in_one_test import in_one_test
from references import outcomes as plain
from references.laws import measure
from references.sandwich import assert_between, assert_same_profile


def always_rounded():
    """Small laws go through the grid too."""
    return mock.patch.object(products, "EXACT_ATOMS", 0)


def resolutions():
    """Steps from very coarse to fine, tails from absurdly large to tiny."""
    return st.builds(
        Resolution,
        st.floats(0.01, 1.5),
        st.floats(-80, -1).map(lambda e: 10.0**e),
        st.floats(2, 30),
    )


def both_sides(operation):
    """Lower and upper result."""
    return operation(Side.LOWER), operation(Side.UPPER)


def check_product(first, second, resolution):
    """Both bounds around the enumeration of all pairs of outcomes."""
    a, b = law_of(first), law_of(second)
    with always_rounded():
        lower, upper = both_sides(lambda side: product(a, b, resolution, side))
    assert_between(plain.compose(measure(a), measure(b)), lower, upper)


def check_average(first, second, weight, resolution):
    """Both bounds around the enumeration of all pairs of outcomes."""
    a, b = law_of(first), law_of(second)
    # Two pairs without any common outcome have nothing to round.
    assume(a.q.any() or b.q.any())
    with always_rounded():
        lower, upper = both_sides(lambda side: average(a, b, weight, resolution, side))
    assert_between(plain.average(measure(a), measure(b), weight), lower, upper)


@quick
@given(first=pairs(), second=pairs(), resolution=resolutions())
def test_product_is_a_sandwich(first, second, resolution):
    """Lower and upper product enclose the enumeration, whatever the grid and the tail."""
    check_product(first, second, resolution)


@quick
@given(first=pairs(), second=pairs(), weight=st.floats(0.01, 0.99), resolution=resolutions())
def test_average_is_a_sandwich(first, second, weight, resolution):
    """Lower and upper average enclose the enumeration, whatever the grid and the tail."""
    check_average(first, second, weight, resolution)


@pytest.mark.slow
@thorough
@given(first=pairs(), second=pairs(), resolution=resolutions())
def test_product_is_a_sandwich_for_many_laws(first, second, resolution):
    """The same with new examples in every run."""
    check_product(first, second, resolution)


@pytest.mark.slow
@thorough
@given(first=pairs(), second=pairs(), weight=st.floats(0.01, 0.99), resolution=resolutions())
def test_average_is_a_sandwich_for_many_laws(first, second, weight, resolution):
    """The same with new examples in every run."""
    check_average(first, second, weight, resolution)


@quick
@given(pair=pairs(max_size=4), resolution=resolutions())
def test_squares_use_symmetry(pair, resolution):
    """A law multiplied by or averaged with itself takes the symmetric path and stays a sandwich."""
    law = law_of(pair)
    exact = measure(law)
    with always_rounded():
        squares = both_sides(lambda side: product(law, law, resolution, side))
        means = both_sides(lambda side: average(law, law, 0.5, resolution, side))
    assert_between(plain.power(exact, 2), *squares)
    assert_between(plain.average(exact, exact, 0.5), *means)


@quick
@given(first=pairs(), second=pairs())
def test_small_products_are_exact(first, second):
    """Few atoms are all kept: lower and upper coincide with the enumeration."""
    a, b = law_of(first), law_of(second)
    for side in Side:
        result = product(a, b, Resolution(0.5, 1e-10, 10.0), side)
        assert_same_profile(plain.compose(measure(a), measure(b)), result)


@quick
@given(first=narrow_pairs(), second=narrow_pairs(), weight=st.floats(0.01, 0.99))
def test_small_averages_are_exact(first, second, weight):
    """Few atoms are all kept: lower and upper coincide with the enumeration."""
    a, b = law_of(first), law_of(second)
    for side in Side:
        result = average(a, b, weight, Resolution(0.5, 1e-10, 10.0), side)
        assert_same_profile(plain.average(measure(a), measure(b), weight), result)


@quick
@given(first=wild_pairs(), second=wild_pairs(), resolution=resolutions())
def test_atoms_at_infinity_and_zero(first, second, resolution):
    """P at infinity composes as 1 - (1 - p)(1 - p'), averages linearly; zeros the other way."""
    a, b = law_of(first), law_of(second)
    assume(a.q.any() or b.q.any())
    with always_rounded():
        composed = product(a, b, resolution, Side.LOWER)
        mean = average(a, b, 0.5, resolution, Side.LOWER)
    for got, one, other in (
        (composed.p_infinite, a.p_infinite, b.p_infinite),
        (composed.q_zero, a.q_zero, b.q_zero),
    ):
        assert got == pytest.approx(one + other * (1 - one), rel=1e-13)
    assert mean.p_infinite == pytest.approx((a.p_infinite + b.p_infinite) / 2, rel=1e-13)
    assert mean.q_zero == pytest.approx(a.q_zero * b.q_zero, rel=1e-13)


@pytest.mark.parametrize("shift", [-1e-17, -1e-16, 1e-17, 1e-16, 0.0])
def test_nodes_that_nearly_hit_zero(shift):
    """A node within rounding of the loss 0 belongs to one side of it, not to both."""
    law = randomized_response(1.0, 2).law(Side.UPPER, None)
    moved = Law(law.loss + np.array([shift, 0.0]), law.p, law.q)
    with always_rounded():
        for side in Side:
            result = product(law, moved, Resolution(0.5, 1e-12, 10.0), side)
            assert result.p.sum() == pytest.approx(1.0, rel=1e-12)
            assert result.q.sum() == pytest.approx(1.0, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("step", [0.02, 0.1, 0.4, 1.0])
@pytest.mark.parametrize("tail", [1e-3, 1e-12, 1e-60])
def test_compression_is_a_sandwich(step, tail):
    """A law of many atoms on a coarser grid of its own."""
    fine = subsample(GaussianPair(1.0).law(Side.UPPER, Resolution(0.05, 1e-40, 8.0)), 0.1)
    resolution = Resolution(step, tail, 10.0)
    lower, upper = both_sides(lambda side: compress(fine, resolution, side))
    assert step < 0.1 or upper.loss.size < fine.loss.size
    assert_between(measure(fine), lower, upper)


@quick
@given(scale=st.floats(-12, -1).map(lambda e: 10.0**e), step=st.floats(0.01, 1.5))
def test_tiny_losses_keep_their_digits(scale, step):
    """Losses of 1e-12 are averaged and multiplied with the same relative accuracy as of 1."""
    loss = scale * np.array([-1.3, -0.4, 0.9, 1.7])
    q = np.array([0.3, 0.3, 0.3, 0.1])
    law = Law(loss, q * np.exp(loss), q)
    exact = measure(law)
    resolution = Resolution(step, 1e-30, 10.0)
    with always_rounded():
        squares = both_sides(lambda side: product(law, law, resolution, side))
        means = both_sides(lambda side: average(law, law, 0.5, resolution, side))
    assert_between(plain.power(exact, 2), *squares, shift=0.0)
    assert_between(plain.average(exact, exact, 0.5), *means, shift=0.0)


@in_one_test
@pytest.mark.parametrize("loss", [450.0, 600.0, 800.0, 3000.0, 1e6])
@pytest.mark.parametrize("side_of_one", ["below", "above"])
def test_averages_of_losses_that_overflow(loss, side_of_one):
    """Likelihood ratios beyond floating point are cut and charged, never mistaken for others."""
    if side_of_one == "below":
        law = Law(np.array([-loss, 2.0]), np.array([0.0, 0.7]), np.array([0.9, 0.7 * np.exp(-2.0)]))
    else:
        law = Law(np.array([-2.0, loss]), np.array([0.9 * np.exp(-2.0), 0.7]), np.array([0.9, 0.0]))
    exact = measure(law)
    with always_rounded():
        rounded = both_sides(
            lambda side: average(law, law, 0.5, Resolution(0.1, 1e-15, 10.0), side)
        )
    assert_between(plain.average(exact, exact, 0.5), *rounded)
    small = both_sides(lambda side: average(law, law, 0.5, Resolution(0.1, 1e-15, 10.0), side))
    assert_between(plain.average(exact, exact, 0.5), *small)
