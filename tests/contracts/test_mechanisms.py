"""Any mechanism in a step: every analysis against enumeration, and renyi against formulas."""

from __future__ import annotations

import math

import pytest

import hockeystick as hs

LAPLACE = hs.Profile.laplace(scale=1.0)


def run(mechanism, *, picks=1, out_of=5, epochs=1):
    """Random allocation of a mechanism of its own."""
    scheme = hs.RandomAllocation(picks=picks, out_of=out_of)
    return hs.Plan(sampling=scheme, steps=epochs * out_of, mechanism=mechanism)


def test_renyi_of_laplace_noise_is_its_formula():
    """Full batch, one step: the divergence of order 2 by hand."""
    two_thirds, one_third = 2 / 3, 1 / 3
    expected = math.log(two_thirds * math.exp(1.0) + one_third * math.exp(-2.0))
    assert LAPLACE.renyi(2) == pytest.approx(expected, rel=1e-12)
    assert LAPLACE.reverse().renyi(2) == pytest.approx(expected, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize("method", ["profile", "renyi", "decomposition", "poisson-reduction"])
@pytest.mark.parametrize(
    "mechanism",
    [
        LAPLACE,
        hs.Profile.randomized_response(epsilon=1.0),
        hs.Profile.from_epsilon_delta(1.0, 1e-3),
    ],
    ids=["laplace", "randomized response", "epsilon delta"],
)
def test_all_analyses_cover_the_exact_one(mechanism, method, direction):
    """No analysis of a mechanism lies below the lower bound of the exact pair."""
    plan = run(mechanism, epochs=2)
    exact = hs.account(plan, method="profile", direction=direction)
    found = hs.account(plan, method=method, direction=direction)
    for epsilon in (0.05, 0.6):
        assert found.delta(epsilon) >= exact.answer(epsilon=epsilon).lower
    for delta in (0.003, 0.05):
        assert found.epsilon(delta) >= exact.answer(delta=delta).lower


@pytest.mark.slow
def test_mass_at_infinity_bounds_what_can_be_claimed():
    """Two blocks of a mechanism that fails with 0.1 % cannot promise less than 0.2 %."""
    plan = run(hs.Profile.from_epsilon_delta(0.5, 1e-3), epochs=2)
    for method in ("profile", "renyi", "decomposition", "poisson-reduction"):
        guarantee = hs.account(plan, method=method)
        assert guarantee.epsilon(1.9e-3) == math.inf
        assert guarantee.epsilon(3e-3) < math.inf
        assert guarantee.delta(20.0) >= 1.999e-3


def test_renyi_of_a_product_is_the_sum():
    """Divergences of independent runs add."""
    once = hs.Profile.gaussian(noise_multiplier=0.9).allocate(30)
    assert once.self_compose(7).renyi([2, 5.5]) == pytest.approx(7 * once.renyi([2, 5.5]), rel=1e-9)


def test_renyi_between_integers_is_above_the_truth():
    """The chord bounds the closed form of the Gaussian mechanism, and touches it at integers."""
    profile = hs.Profile.gaussian(noise_multiplier=2.0)
    assert profile.renyi(3) == pytest.approx(3 / 8, rel=1e-12)
    assert 3.5 / 8 <= profile.renyi(3.5) <= 4 / 8
    assert profile.renyi(1.5) >= 1.5 / 8


@pytest.mark.parametrize("order", [1, 0.5, math.nan, math.inf, 10_001, [2, 1]])
def test_orders_out_of_range(order):
    """An order must exceed 1 and be within reach."""
    with pytest.raises(hs.errors.InvalidParameter, match="order"):
        LAPLACE.renyi(order)


def test_no_moment_where_mass_is_missing():
    """A pair with P-mass that Q lacks has no finite divergence."""
    assert hs.Profile.from_epsilon_delta(1.0, 1e-3).renyi(2) == math.inf
