"""Trade-off functions and privacy curves as polygons, and the way between them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from hockeystick.errors import InvalidParameter
from hockeystick.fdp import PrivacyCurve, TradeOff, from_pmfs, greatest_lower_bound
from hypothesis_strategies import pairs, quick

ALPHA = np.linspace(0.0, 1.0, 301)
GAMMA = np.concatenate((np.linspace(0.0, 4.0, 201), [20.0, 1e4]))
Pair = tuple[list[float], list[float]]


def brute_height(pair: Pair, gamma: float) -> float:
    """H(gamma) as the sum of the positive parts of p - gamma q."""
    p, q = map(np.array, pair)
    return float(np.maximum(p - gamma * q, 0.0).sum())


def random_nodes(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Corners of a random convex trade-off polygon: drops in the order of their slopes."""
    count = int(rng.integers(1, 40))
    p, q = rng.dirichlet(np.full(count, 0.7)), rng.dirichlet(np.full(count, 0.7))
    start, end = rng.choice([0.0, 0.1], 2)
    order = np.argsort(-p / q)
    alpha = np.concatenate(([0.0], np.cumsum(q[order]) * (1 - end)))
    beta = (1 - start) * np.concatenate(([1.0], 1 - np.cumsum(p[order])))
    beta[-1] = 0.0
    return alpha, np.maximum(beta, 0.0)


def test_conversions_are_mutually_inverse_on_random_curves() -> None:
    """From f to H and back, through the corners alone, and the other way round, to 1e-9."""
    rng = np.random.default_rng(20)
    for _ in range(300):
        alpha, beta = random_nodes(rng)
        f = TradeOff(alpha, beta)
        curve = f.curve()
        back = PrivacyCurve(curve.gamma, curve.height).tradeoff()
        assert np.max(np.abs(back(ALPHA) - np.interp(ALPHA, alpha, beta))) < 1e-9
        again = TradeOff(back.alpha, back.beta).curve()
        assert np.max(np.abs(again(GAMMA) - curve(GAMMA))) < 1e-9


def test_a_curve_is_the_conjugate_on_a_fine_grid() -> None:
    """H(g) = max over alpha of 1 - f(alpha) - g alpha, by brute force over the corners."""
    rng = np.random.default_rng(4)
    for _ in range(20):
        alpha, beta = random_nodes(rng)
        expected = np.max(1 - beta - np.multiply.outer(GAMMA, alpha), axis=1)
        assert TradeOff(alpha, beta).curve()(GAMMA) == pytest.approx(expected, abs=1e-12)


@given(pair=pairs())
@quick
def test_a_discrete_pair_has_its_own_curve(pair: Pair) -> None:
    """H of the polygon equals the sum over outcomes."""
    curve = from_pmfs(*pair).curve()
    expected = [brute_height(pair, gamma) for gamma in GAMMA]
    assert np.max(np.abs(curve(GAMMA) - expected)) < 1e-12


@given(pair=pairs())
@quick
def test_the_inverse_exchanges_both_distributions(pair: Pair) -> None:
    """f^-1 is the trade-off function of (Q, P), and twice inverted it is f."""
    p, q = pair
    inverse = from_pmfs(p, q).inverse()
    assert np.max(np.abs(inverse(ALPHA) - from_pmfs(q, p)(ALPHA))) < 1e-12
    assert np.max(np.abs(inverse.inverse()(ALPHA) - from_pmfs(p, q)(ALPHA))) < 1e-12


@given(pair=pairs())
@quick
def test_symmetrisation_is_the_maximum_of_both_profiles(pair: Pair) -> None:
    """sym(f) has the profile max(H, H reversed), and is its own inverse."""
    p, q = pair
    symmetric = from_pmfs(p, q).symmetrize()
    expected = np.maximum(from_pmfs(p, q).curve()(GAMMA), from_pmfs(q, p).curve()(GAMMA))
    assert np.max(np.abs(symmetric.curve()(GAMMA) - expected)) < 1e-12
    assert np.max(np.abs(symmetric.inverse()(ALPHA) - symmetric(ALPHA))) < 1e-12


@given(first=pairs(), second=pairs(), third=pairs())
@quick
def test_the_greatest_lower_bound_has_the_largest_profile(
    first: Pair, second: Pair, third: Pair
) -> None:
    """It is below all members, and its profile is their pointwise maximum."""
    family = [from_pmfs(*pair) for pair in (first, second, third)]
    bound = greatest_lower_bound(family)
    lowest = np.min([member(ALPHA) for member in family], axis=0)
    assert np.all(bound(ALPHA) <= lowest + 1e-12)
    highest = np.max([member.curve()(GAMMA) for member in family], axis=0)
    assert np.max(np.abs(bound.curve()(GAMMA) - highest)) < 1e-12


def test_evaluation_takes_numbers_and_arrays_of_any_shape() -> None:
    """A number gives a float, a matrix a matrix; both ends are exact."""
    f = TradeOff([0.0, 0.2, 1.0], [0.9, 0.4, 0.0])
    assert isinstance(f(0.1), float)
    assert f([[0.0, 0.1], [0.2, 1.0]]).tolist() == [[0.9, pytest.approx(0.65)], [0.4, 0.0]]
    assert f.curve()(0.0) == 1.0
    assert f.curve()(np.inf) == pytest.approx(0.1)
    assert TradeOff.identity()(0.3) == pytest.approx(0.7)


@pytest.mark.parametrize(
    ("alpha", "beta"),
    [
        ([0.1, 1.0], [0.9, 0.0]),
        ([0.0, 1.0], [1.0, 0.1]),
        ([0.0, 0.5, 1.0], [0.8, 0.45, 0.0]),
        ([0.0, 0.5, 1.0], [1.0, 0.6, 0.0]),
        ([0.0, 0.5], [1.0, np.nan]),
        ([0.0, 0.5, 0.4], [1.0, 0.2, 0.0]),
        ([0.0, 1.0], [1.0, 0.5, 0.0]),
    ],
    ids=["start", "end", "convex", "diagonal", "nan", "order", "length"],
)
def test_what_is_no_trade_off_function_is_refused(alpha: list[float], beta: list[float]) -> None:
    """The error names the parameter and what is allowed."""
    with pytest.raises(InvalidParameter, match=r"alpha|beta"):
        TradeOff(alpha, beta)


@pytest.mark.parametrize(
    ("gamma", "height"),
    [([0.0, 1.0], [0.9, 0.0]), ([0.0, 1.0], [1.0, -0.1]), ([0.0, 0.5, 1.0], [1.0, 0.4, 0.3])],
    ids=["start", "negative", "diagonal"],
)
def test_what_is_no_privacy_curve_is_refused(gamma: list[float], height: list[float]) -> None:
    """H starts at 1 and is never below 1 - g or 0."""
    with pytest.raises(InvalidParameter, match="height"):
        PrivacyCurve(gamma, height)


@pytest.mark.parametrize("value", [-0.1, 1.1, np.nan])
def test_levels_outside_the_unit_interval_are_refused(value: float) -> None:
    """Neither outside nor NaN."""
    with pytest.raises(InvalidParameter, match="alpha"):
        TradeOff.identity()(value)
    with pytest.raises(InvalidParameter, match="gamma"):
        TradeOff.identity().curve()(value if value != 1.1 else -1.0)


def test_bounds_are_carried_along_and_never_mixed() -> None:
    """A lower bound on f is an upper bound on H; lower and upper together mean nothing."""
    lower = TradeOff([0.0, 1.0], [0.9, 0.0], bound="lower")
    upper = TradeOff([0.0, 1.0], [0.9, 0.0], bound="upper")
    exact = TradeOff.identity()
    assert (lower.curve().bound, upper.curve().bound) == ("upper", "lower")
    assert (lower.to_profile().bound, upper.to_profile().bound) == ("upper", "lower")
    assert lower.tensor(exact).bound == "lower"
    assert greatest_lower_bound([exact, upper]).bound == "upper"
    with pytest.raises(InvalidParameter, match="bound"):
        lower.tensor(upper)
    with pytest.raises(InvalidParameter, match="bound"):
        TradeOff([0.0, 1.0], [0.9, 0.0], bound="estimate").to_profile()
