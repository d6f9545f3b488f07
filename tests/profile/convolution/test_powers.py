"""Many-fold products and averages against sequential enumeration."""

from __future__ import annotations

import math
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hockeystick._numerics.law import Resolution, Side
from hockeystick.profile import convolution as products
from hockeystick.profile.convolution import (
    average_of_copies,
    product_of_powers,
    rounding_levels,
)
from hypothesis_strategies import law_of, pairs, quick
from in_one_test import in_one_test
from references import outcomes as plain
from references.laws import measure
from references.sandwich import assert_between, assert_same_profile

COARSE = Resolution(0.4, 1e-9, 10.0)


def rounded():
    """Small laws go through the grid too."""
    return mock.patch.object(products, "EXACT_ATOMS", 0)


@pytest.mark.slow
@quick
@given(pair=pairs(max_size=3), count=st.integers(1, 5))
def test_powers_by_squaring(pair, count):
    """A power equals the product of all tuples; on a coarse grid it is enclosed."""
    law = law_of(pair)
    exact = plain.power(measure(law), count)
    with rounded():
        bounds = [product_of_powers([law], [count], COARSE, side) for side in Side]
    assert_between(exact, lower=bounds[1], upper=bounds[0])


@quick
@given(
    data=st.data(),
    counts=st.lists(st.integers(1, 6), min_size=2, max_size=4).filter(lambda c: sum(c) <= 7),
)
def test_products_of_several_powers(data, counts):
    """Factors that share their squarings appear exactly as often as they should."""
    laws = [law_of(data.draw(pairs(max_size=2))) for _ in counts]
    factors = [measure(law) for law, count in zip(laws, counts, strict=True) for _ in range(count)]
    exact = plain.compose(*[_without_empty(factor) for factor in factors])
    with rounded():
        bounds = [product_of_powers(laws, counts, COARSE, side) for side in Side]
    assert_between(exact, lower=bounds[1], upper=bounds[0])


@pytest.mark.parametrize("counts", [(1, 1), (2, 3), (4, 1), (6, 5), (1, 2, 3), (3, 3, 3)])
def test_small_powers_are_exact(counts):
    """Randomized responses stay on few atoms, so that nothing is rounded."""
    pmfs = [([0.7, 0.3], [0.3, 0.7]), ([0.6, 0.4], [0.4, 0.6]), ([0.9, 0.1], [0.1, 0.9])]
    used = pmfs[: len(counts)]
    laws = [law_of(pair) for pair in used]
    result = product_of_powers(laws, counts, Resolution(0.4, 1e-60, 10.0), Side.UPPER)
    exact = plain.compose(
        *[plain.outcomes(*pair) for pair, n in zip(used, counts, strict=True) for _ in range(n)]
    )
    assert_same_profile(exact, result)


@quick
@given(pair=pairs(max_size=3), copies=st.integers(1, 6))
def test_averages_of_copies(pair, copies):
    """The average of up to six copies is the allocation over all tuples."""
    law = law_of(pair)
    exact = plain.allocate(_without_empty(measure(law)), copies)
    with rounded():
        bounds = [average_of_copies(law, copies, COARSE, side) for side in Side]
    assert_between(exact, lower=bounds[1], upper=bounds[0])


@in_one_test
@pytest.mark.parametrize("count", [1, 2, 3, 7, 8, 1000, 1023, 1_000_000])
def test_rounding_levels(count):
    """Squarings and extra factors, counted along the binary expansion."""
    squarings = int(math.log2(count))
    assert rounding_levels(count) == squarings + bin(count).count("1") - 1


def _without_empty(pair):
    return [(p, q) for p, q in pair if p > 0 or q > 0]
