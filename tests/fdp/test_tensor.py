"""Tensor products of trade-off functions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from hockeystick.fdp import TradeOff, from_pmfs, gdp, greatest_lower_bound, polygons
from hypothesis_strategies import pairs, quick

ALPHA = np.linspace(0.0, 1.0, 301)
Pair = tuple[list[float], list[float]]


def apart(one: TradeOff, other: TradeOff) -> float:
    """The largest difference of two functions."""
    return float(np.max(np.abs(one(ALPHA) - other(ALPHA))))


@given(first=pairs(), second=pairs())
@quick
def test_a_product_is_the_pair_of_both_outcomes(first: Pair, second: Pair) -> None:
    """All pairs of outcomes, enumerated; and the order of the factors does not matter."""
    f, g = from_pmfs(*first), from_pmfs(*second)
    p, q = (np.outer(one, other).ravel() for one, other in zip(first, second, strict=True))
    joint = from_pmfs(p / p.sum(), q / q.sum())
    assert apart(f.tensor(g), joint) < 1e-12
    assert apart(f.tensor(g), g.tensor(f)) < 1e-12


@given(first=pairs(), second=pairs(), third=pairs())
@quick
def test_products_associate_and_keep_order(first: Pair, second: Pair, third: Pair) -> None:
    """(f g) h = f (g h), and a smaller factor gives a smaller product."""
    f, g, h = (from_pmfs(*pair) for pair in (first, second, third))
    assert apart(f.tensor(g).tensor(h), f.tensor(g.tensor(h))) < 1e-12
    smaller = greatest_lower_bound([g, h])
    assert np.all(f.tensor(smaller)(ALPHA) <= f.tensor(g)(ALPHA) + 1e-12)


@given(pair=pairs())
@quick
def test_perfect_privacy_is_the_neutral_factor(pair: Pair) -> None:
    """f Id = f, the inverse of a product is the product of the inverses, powers are products."""
    f = from_pmfs(*pair)
    assert apart(f.tensor(TradeOff.identity()), f) < 1e-12
    assert apart(f.tensor(f).inverse(), f.inverse().tensor(f.inverse())) < 1e-12
    assert apart(f.power(3), f.tensor(f).tensor(f)) < 1e-12


def test_squares_of_mu_add() -> None:
    """In closed form, and for polygons within their own distance from the curves."""
    assert gdp(0.6).tensor(gdp(0.8)).mu == pytest.approx(1.0, rel=1e-15)
    assert gdp(0.3).power(4).mu == pytest.approx(0.6, rel=1e-15)
    product = gdp(0.6).polygon(corners=300).tensor(gdp(0.8).polygon(corners=300))
    gap = gdp(1.0)(ALPHA) - product(ALPHA)
    assert product.bound == "lower"
    assert np.all(gap >= -1e-12)
    assert np.max(gap) < 2e-4


@pytest.mark.parametrize("bound", ["exact", "lower", "upper"])
def test_large_products_are_rounded_to_the_side_they_are_on(
    monkeypatch: pytest.MonkeyPatch, bound: str
) -> None:
    """Beyond the limit an exact product becomes a lower bound; each is close to the exact one."""
    rng = np.random.default_rng(3)
    one, other = (
        TradeOff.of_law(from_pmfs(*rng.dirichlet(np.ones(200), 2)).law, bound=bound)  # type: ignore[arg-type]
        for _ in range(2)
    )
    exact = one.tensor(other)
    monkeypatch.setattr(polygons, "MOST_PAIRS", 1_000)
    rounded = one.tensor(other)
    assert rounded.bound == ("upper" if bound == "upper" else "lower")
    gap = (exact(ALPHA) - rounded(ALPHA)) * (-1 if bound == "upper" else 1)
    assert np.all(gap >= -1e-9)
    assert 0 < np.max(gap) < 1e-3
