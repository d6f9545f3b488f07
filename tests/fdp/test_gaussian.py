"""mu-GDP curves, the tightest mu and the attack reading."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hockeystick import Profile
from hockeystick.errors import InvalidParameter
from hockeystick.fdp import (
    TradeOff,
    from_pmfs,
    gdp,
    greatest_lower_bound,
    tightest_mu,
    true_positive_rate,
)
from hypothesis_strategies import pairs, quick

ALPHA = np.linspace(0.0, 1.0, 2001)
PHI = NormalDist()
SAMPLED = Profile.gaussian(noise_multiplier=1.0).subsample(0.1).self_compose(20)
Pair = tuple[list[float], list[float]]


@pytest.mark.parametrize("mu", [0.1, 1.0, 3.0])
def test_the_closed_form(mu: float) -> None:
    """G_mu from the standard library's normal law; both ends; H agrees with the mechanism."""
    g = gdp(mu)
    for alpha in (0.01, 0.3, 0.9):
        assert g(alpha) == pytest.approx(PHI.cdf(PHI.inv_cdf(1 - alpha) - mu), rel=1e-12)
    assert (g(0.0), g(1.0)) == (1.0, 0.0)
    mechanism = Profile.gaussian(noise_multiplier=1 / mu)
    for epsilon in (-1.0, 0.0, 0.7):
        assert g.height(math.exp(epsilon)) == pytest.approx(mechanism.delta(epsilon), rel=1e-8)
    assert g.height(0.0) == 1.0
    assert g.symmetrize() == g.inverse() == g


def test_no_shift_is_perfect_privacy() -> None:
    """mu = 0 gives 1 - alpha and (1 - g)+."""
    assert gdp(0.0)(ALPHA) == pytest.approx(1 - ALPHA, abs=1e-15)
    assert gdp(0.0).height([0.5, 2.0]).tolist() == [0.5, 0.0]
    assert tightest_mu(gdp(0.0)).mu == 0.0


@given(pair=pairs(), slack=st.sampled_from([0.0, 1e-3]))
@quick
def test_the_tightest_mu_of_a_polygon(pair: Pair, slack: float) -> None:
    """G_mu is below f everywhere, and a slightly smaller mu is not (or mu is zero)."""
    f = from_pmfs(*pair)
    found = tightest_mu(f, slack=slack)
    if math.isinf(found.mu):
        assert f.law.p_infinite > slack or f.law.q_zero > 0
        return
    fine = np.union1d(ALPHA, f.alpha)
    assert np.all(gdp(found.mu)(fine) - slack <= f(fine) + 1e-9)
    if found.mu > 1e-3:
        assert np.any(gdp(found.mu * 0.999)(fine) - slack > f(fine))


def test_pure_dp_in_closed_form() -> None:
    """epsilon-DP is mu-GDP with mu = -2 Phi^-1(1/(1 + e^epsilon)), and no less."""
    expected = -2 * PHI.inv_cdf(1 / (1 + math.e))
    found = tightest_mu(Profile.from_epsilon_delta(1.0))
    assert expected <= found.mu <= expected * (1 + 1e-7)


def test_a_gaussian_profile_is_its_own_bound() -> None:
    """Composition, reversal and sampling keep the mu of the unsampled mechanism."""
    mechanism = Profile.gaussian(noise_multiplier=2.0)
    for profile, mu in (
        (mechanism, 0.5),
        (mechanism.self_compose(9), 1.5),
        (mechanism.subsample(0.1).self_compose(4), 1.0),
        (mechanism.subsample(0.1).reverse(), 0.5),
        (mechanism.allocate(5), 0.5),
        (mechanism.symmetrize(), 0.5),
    ):
        assert mu <= tightest_mu(profile).mu <= mu * (1 + 1e-9)


def test_mixed_compositions_have_a_cover() -> None:
    """A Gaussian beside a randomised response: squares add; bounded losses alone do better."""
    response = Profile.randomized_response(epsilon=1.0)
    single = tightest_mu(response).mu
    mixed = tightest_mu(Profile.gaussian(noise_multiplier=1.0).compose(response)).mu
    assert mixed == pytest.approx(math.hypot(1.0, single), rel=1e-7)
    assert single < tightest_mu(response.self_compose(4)).mu < 2 * single


def test_laplace_is_covered_as_closely_as_its_grid_allows() -> None:
    """The largest mu over a fine grid of its closed-form trade-off function, and hardly more."""
    alpha = np.linspace(1e-3, 0.5, 2000)
    # Laplace noise of scale 1: f = 1 - e alpha up to e^-1 / 2, then e^-1 / (4 alpha) up to 1/2.
    beta = np.where(alpha < math.exp(-1) / 2, 1 - math.e * alpha, math.exp(-1) / (4 * alpha))
    needed = max(PHI.inv_cdf(1 - a) - PHI.inv_cdf(b) for a, b in zip(alpha, beta, strict=True))
    found = tightest_mu(Profile.laplace(scale=1.0)).mu
    assert needed <= found <= needed * 1.001


def test_slack_shows_amplification() -> None:
    """With slack 1e-6 the sampled run is dominated by a far smaller mu, in every delta."""
    found = tightest_mu(SAMPLED, slack=1e-6)
    assert found.mu < 1.0 < tightest_mu(SAMPLED).mu
    for epsilon in (-2.0, 0.0, 0.5, 1.0, 2.0, 4.0):
        assert SAMPLED.delta_bounds(epsilon).lower <= gdp(found.mu).height(math.exp(epsilon)) + 1e-6


def test_no_gaussian_covers_outputs_that_tell_all() -> None:
    """Mass at infinity, or at zero, gives infinity and the reason."""
    for pair in (([0.1, 0.9], [0.0, 1.0]), ([0.0, 1.0], [0.1, 0.9])):
        found = tightest_mu(from_pmfs(*pair))
        assert found.mu == math.inf
        assert "axis" in found.reason
    assert tightest_mu(Profile.from_epsilon_delta(1.0, 1e-5)).mu == math.inf


def test_an_attack_on_the_gaussian_mechanism() -> None:
    """TPR = 1 - G_mu(FPR), an upper bound and relatively accurate down to tiny rates."""
    rates = np.array([1e-9, 1e-6, 1e-3, 0.1, 0.5])
    expected = np.array([PHI.cdf(PHI.inv_cdf(rate) + 1.0) for rate in rates])
    bound = true_positive_rate(Profile.gaussian(noise_multiplier=1.0), false_positive_rate=rates)
    assert np.all(bound >= expected)
    assert np.all(bound <= expected * (1 + 2e-3))
    assert np.array_equal(true_positive_rate(gdp(1.0), false_positive_rate=rates), bound)


def test_attacks_at_the_ends() -> None:
    """No false positives leave P at infinity; at FPR 1 everything is found."""
    f = TradeOff([0.0, 0.5, 1.0], [0.9, 0.2, 0.0])
    assert true_positive_rate(f, false_positive_rate=0.0) == pytest.approx(0.1)
    assert true_positive_rate(f, false_positive_rate=[0.5, 1.0]) == pytest.approx([0.8, 1.0])
    failing = Profile.from_epsilon_delta(0.5, 1e-4)
    assert true_positive_rate(failing, false_positive_rate=0.0) == pytest.approx(1e-4, rel=1e-6)


def test_the_attack_on_a_worse_mechanism_is_stronger() -> None:
    """The envelope of two functions allows at least what each of them allows."""
    one, other = from_pmfs([0.7, 0.3], [0.3, 0.7]), from_pmfs([0.1, 0.9], [0.0, 1.0])
    both = greatest_lower_bound([one, other])
    rates = np.linspace(0, 1, 21)
    allowed = true_positive_rate(both, false_positive_rate=rates)
    for member in (one, other):
        assert np.all(allowed >= true_positive_rate(member, false_positive_rate=rates) - 1e-12)


@pytest.mark.parametrize("value", [-0.1, 1.5, math.nan])
def test_rates_and_slacks_are_checked(value: float) -> None:
    """Outside the allowed range, and NaN."""
    with pytest.raises(InvalidParameter, match="false_positive_rate"):
        true_positive_rate(SAMPLED, false_positive_rate=value)
    with pytest.raises(InvalidParameter, match="slack"):
        tightest_mu(SAMPLED, slack=value)
    with pytest.raises(InvalidParameter, match="mu"):
        gdp(value if value != 1.5 else math.inf)
    with pytest.raises(InvalidParameter, match="source"):
        tightest_mu(Profile.gaussian(noise_multiplier=1.0, bound="lower"))
    with pytest.raises(InvalidParameter, match="source"):
        tightest_mu(TradeOff([0.0, 0.5, 1.0], [1.0, 0.4, 0.0], bound="upper"))
