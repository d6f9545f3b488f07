from __future__ import annotations

import math

import numpy as np
import pytest

import hockeystick as hs
from hockeystick import filters
from hockeystick.errors import BudgetExceeded, InvalidParameter, UnsupportedPlan
from hockeystick.filters.renyi.divergence import (
    budget_at_order,
    epsilon_at_order,
    sampled_divergences,
)
from in_one_test import in_one_test


def divergences(order: float, rate: float, mu: float) -> tuple[float, float]:
    """D(P||Q) and D(Q||P) of the sampled Gaussian by the trapezoidal rule."""
    y = np.linspace(-15.0 - order * mu, 15.0 + order * mu, 400_001)
    log_q = -(y**2) / 2
    log_ratio = np.logaddexp(np.log1p(-rate), np.log(rate) + mu * y - mu**2 / 2)
    norm = np.exp(log_q).sum()
    return tuple(
        float(np.log(np.exp(log_q + power * log_ratio).sum() / norm) / (order - 1))
        for power in (order, 1 - order)
    )  # type: ignore[return-value]


@in_one_test
@pytest.mark.parametrize("order", [2, 3, 8, 17])
@pytest.mark.parametrize("rate", [0.01, 0.3, 0.9])
@pytest.mark.parametrize("mu", [0.3, 1.0, 2.0])
def test_divergence_at_integer_orders(order: int, rate: float, mu: float) -> None:
    """Exact, and the add direction is never more."""
    remove, add = divergences(order, rate, mu)
    found = float(sampled_divergences(order, rate, np.array([mu**2]))[0])
    assert add <= remove * (1 + 1e-9)
    assert remove * (1 - 1e-9) <= found <= remove * (1 + 1e-8)


@pytest.mark.parametrize(
    ("order", "tolerance"), [(1.3, 2e-4), (2.5, 2e-4), (6.2, 2e-4), (20.7, 0.02)]
)
@pytest.mark.parametrize("rate", [0.001, 0.02, 0.5])
def test_divergence_between_integers_is_a_bound(
    order: float, tolerance: float, rate: float
) -> None:
    """Above both directions, and close: chords at large orders, a grid at small ones."""
    for mu in (0.01, 0.4, 1.5):
        worst = max(divergences(order, rate, mu))
        found = float(sampled_divergences(order, rate, np.array([mu**2]))[0])
        # The reference itself is good to some 1e-15, which is not nothing where it is tiny.
        assert worst - 1e-13 <= found <= worst * (1 + tolerance) + 1e-13


@pytest.mark.parametrize("mu", [1e-9, 0.3, 8.0, 40.0, 1e6])
def test_fractional_orders_lie_between_those_of_integers(mu: float) -> None:
    """Also where the grid ends, far apart and very close: never below, never above the chord."""
    for rate in (1e-6, 0.3):
        at = {a: float(sampled_divergences(a, rate, np.array([mu**2]))[0]) for a in (2, 2.3, 3)}
        assert at[2] * (1 - 1e-9) <= at[2.3] <= (0.7 * at[2] + 0.6 * at[3]) / 1.3 * (1 + 1e-9)


def test_divergence_at_rate_one() -> None:
    """The Gaussian mechanism: order mu^2 / 2 at every order."""
    np.testing.assert_allclose(
        sampled_divergences(3.7, 1.0, np.array([0.0, 0.25, 4.0])),
        3.7 * np.array([0.0, 0.125, 2.0]),
        rtol=1e-9,
    )


def test_divergence_is_convex_in_the_square() -> None:
    """What the table of individual charges relies on."""
    values = sampled_divergences(9.0, 0.05, np.linspace(0.0, 3.0, 200))
    assert values[0] == 0.0
    assert np.all(np.diff(values, 2) >= -1e-9 * values[2:])


@pytest.mark.parametrize("order", [1.5, 4.0, 60.0])
def test_budget_is_the_largest_divergence(order: float) -> None:
    """It implies (epsilon, delta), and a little more does not."""
    epsilon, delta = 3.0, 1e-3
    budget = budget_at_order(order, epsilon, delta)
    if budget <= 0:
        assert epsilon_at_order(order, 0.0, delta) > epsilon
    else:
        assert epsilon_at_order(order, budget, delta) <= epsilon
        assert epsilon_at_order(order, budget * (1 + 1e-9) + 1e-9, delta) > epsilon


def test_guarantee_is_the_target() -> None:
    """At the target itself, at other deltas, and as a profile."""
    f = filters.Renyi(epsilon=2.0, delta=1e-6)
    g = f.guarantee()
    assert g.kind == f.kind == "proven"
    assert 2.0 * (1 - 1e-9) <= g.epsilon(1e-6) <= 2.0
    assert g.delta(2.0) <= 1e-6
    assert g.epsilon(1e-4) < 2.0 < g.epsilon(1e-8)
    assert g.profile.epsilon(1e-6) >= g.epsilon(1e-6) * (1 - 1e-6)


def test_order_suits_the_expected_run() -> None:
    """No other order allows more steps of the expected kind."""
    for epsilon, rate, noise in ((8.0, 0.01, 0.8), (2.0, 0.01, 0.8), (0.1, 0.5, 5.0)):
        f = filters.Renyi(epsilon=epsilon, delta=1e-5, expected=[(rate, noise, 1)])
        square = np.array([noise**-2])
        allowed = {
            order: budget_at_order(order, epsilon, 1e-5)
            / float(sampled_divergences(order, rate, square)[0])
            for order in (f.order, 1.2, 1.8, 2.5, 3.3, 3.7, 4.5, *range(2, 40), *range(40, 1025, 5))
        }
        assert allowed[f.order] >= max(allowed.values()) * (1 - 1e-3)
    quiet = filters.Renyi(epsilon=2.0, delta=1e-5)
    heavy = filters.Renyi(epsilon=2.0, delta=1e-5, expected=[(0.01, 0.6, 1)])
    assert heavy.order < quiet.order
    mixed = filters.Renyi(epsilon=2.0, delta=1e-5, expected=[(0.01, 0.6, 1), (1.0, 9.0, 10)])
    assert heavy.order < mixed.order < quiet.order


def test_wrong_parameters() -> None:
    """Orders, targets and expectations outside their ranges."""
    for wrong in (
        {"epsilon": math.nan, "delta": 1e-5},
        {"epsilon": 1.0, "delta": 0.0},
        {"epsilon": 1.0, "delta": 1e-5, "order": 1.0},
        {"epsilon": 1.0, "delta": 1e-5, "order": 1025},
        {"epsilon": 1.0, "delta": 1e-5, "order": 2.0},
        {"epsilon": 1e-9, "delta": 1e-9},
        {"epsilon": 1.0, "delta": 1e-5, "expected": [(0.0, 1.0, 1)]},
    ):
        with pytest.raises(InvalidParameter):
            filters.Renyi(**wrong)


def test_clipped_step_costs_what_is_left() -> None:
    """The charge at the clip scale is what is left, up to rounding, for sampled steps too."""
    f = filters.Renyi(epsilon=1.0, delta=1e-5, order=12.5)
    f.request(rate=0.2, noise_multiplier=4.0)
    left = f.remaining
    permit = f.request(rate=0.1, noise_multiplier=0.5, sensitivity=2.0, steps=3)
    mu = 2.0 * permit.clip_scale / 0.5
    cost = 3 * float(sampled_divergences(12.5, 0.1, np.array([mu**2]))[0])
    assert left * (1 - 1e-9) <= cost <= left
    assert permit.charge == left


def test_profiles_are_charged_in_the_worse_direction() -> None:
    """A discrete pair: both sums by hand."""
    p, q = np.array([0.7, 0.2, 0.1]), np.array([0.3, 0.3, 0.4])
    f = filters.Renyi(epsilon=5.0, delta=1e-2, order=3)
    exact = max(math.log(float((a**3 / b**2).sum())) / 2 for a, b in ((p, q), (q, p)))
    for pair in (hs.Profile.from_pmfs(p, q), hs.Profile.from_pmfs(q, p)):
        assert math.isclose(f.request(profile=pair).charge, exact, rel_tol=1e-9)
    assert f.request(profile=hs.Profile.from_pmfs(p, q)).charge >= exact
    with pytest.raises(BudgetExceeded):
        f.request(profile=hs.Profile.from_pmfs(p, q), steps=1000)


def test_profiles_of_sampled_gaussians() -> None:
    """Charged like requests by rate and noise, alone, composed or exchanged."""
    f = filters.Renyi(epsilon=5.0, delta=1e-2, order=6.5)
    sampled = hs.Profile.gaussian(noise_multiplier=2.0).subsample(0.1)
    one = f.request(rate=0.1, noise_multiplier=2.0).charge
    laplace = f.request(profile=hs.Profile.laplace(scale=5.0)).charge
    for profile, charge in (
        (sampled, one),
        (sampled.reverse(), one),
        (sampled.self_compose(3), 3 * one),
        (sampled.compose(hs.Profile.laplace(scale=5.0)), one + laplace),
    ):
        assert math.isclose(f.request(profile=profile).charge, charge, rel_tol=1e-9)


def test_profiles_without_a_curve_are_refused() -> None:
    """An (epsilon, delta) pair has no finite divergence."""
    f = filters.Renyi(epsilon=5.0, delta=1e-2)
    with pytest.raises(UnsupportedPlan, match="divergence"):
        f.request(profile=hs.Profile.from_epsilon_delta(0.1, 1e-9))
    assert f.history == ()


def test_infinite_divergences_at_fractional_orders() -> None:
    """Noise so small that mu^2 overflows costs everything; it is no reason to stumble."""
    assert sampled_divergences(4.5, 0.1, np.array([math.inf]))[0] == math.inf
    f = filters.Renyi(epsilon=10.0, delta=1e-5, order=4.5)
    with pytest.raises(BudgetExceeded):
        f.request(rate=0.1, noise_multiplier=1e-200)


@in_one_test
@pytest.mark.parametrize("order", [1.2, 2.0, 3.7, 9.5])
@pytest.mark.parametrize("rate", [0.01, 0.4, 0.95])
def test_divergences_are_convex_in_the_square(order: float, rate: float) -> None:
    """Chords between charges are bounds, at fractional orders too: the slope of the divergence."""
    squares = np.geomspace(1e-3, 5.0, 60)
    mu = np.sqrt(squares)[:, np.newaxis]
    y = -12 + np.linspace(0.0, 1.0, 2001) * (24 + order * mu)
    sampled = np.log(rate) + mu * y - mu**2 / 2
    log_ratio = np.logaddexp(np.log1p(-rate), sampled)
    log_weight = order * log_ratio - y**2 / 2
    weight = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
    share = np.exp(2 * (sampled - log_ratio))
    slope = order / 2 * (weight * share).sum(axis=1) / weight.sum(axis=1)
    assert np.all(slope[1:] >= slope[:-1] * (1 - 1e-12))
    # That it is the slope: the bound grows as fast, up to its own accuracy.
    grown = np.diff(sampled_divergences(order, rate, squares)) / np.diff(squares)
    assert np.all(grown >= slope[:-1] * (1 - 5e-3))
    assert np.all(grown <= slope[1:] * (1 + 5e-3))


def test_a_refusal_says_for_which_steps_the_filter_was_built() -> None:
    """Another `expected` permits more of other steps, and the sentence names it; otherwise none."""

    def refusal(expected: list[tuple[float, float, int]] | None) -> tuple[int, str]:
        budget = hs.filters.Renyi(epsilon=2.0, delta=1e-5, expected=expected)
        count = 0
        while True:
            try:
                budget.request(rate=0.01, noise_multiplier=1.0, steps=100, clip=False)
            except hs.errors.BudgetExceeded as error:
                return count, str(error)
            count += 1

    wrong, sentence = refusal(None)
    assert "built for other steps (rate 1, noise multiplier 1)" in sentence
    assert "expected=[(0.01, 1, steps)]" in sentence
    right, sentence = refusal([(0.01, 1.0, 1)])
    assert "built for" not in sentence
    assert right > wrong
