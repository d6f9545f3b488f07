"""Ranges that are limited, and inputs that used to end in an exception of Python or NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import hockeystick as hs
from hockeystick._numerics.gaussian import gaussian_delta, log_normal_cells
from hockeystick.errors import InvalidParameter, PrecisionError, UnsupportedPlan
from hockeystick.schemes.pairs import several_sampled
from in_one_test import in_one_test
from robustness.outcomes import outcome, refused

S = hs.strategies
PLAN = hs.Plan(sampling=hs.Poisson(rate=0.1), steps=4)
PROFILE = hs.Profile.gaussian(noise_multiplier=1.0)


@in_one_test
@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("noise_multiplier", lambda: hs.Profile.gaussian(noise_multiplier=1e-51)),
        ("noise_multiplier", lambda: hs.Profile.gaussian(noise_multiplier=1e51)),
        ("scale", lambda: hs.Profile.laplace(scale=5e-324)),
        ("noise_multiplier", lambda: hs.account(PLAN, noise_multiplier=1e200)),
        ("steps", lambda: hs.Plan(sampling=hs.FullBatch(), steps=2**53 + 1)),
        ("delta", lambda: hs.account(PLAN, noise_multiplier=1.0).epsilon(5e-324)),
        ("epsilon", lambda: hs.calibrate(PLAN, epsilon=5e-324, delta=1e-5)),
        ("plan", lambda: hs.calibrate(3, epsilon=1.0, delta=1e-5)),
        ("method", lambda: hs.account(PLAN, noise_multiplier=1.0, method=np.zeros(2))),
        ("direction", lambda: hs.account(PLAN, noise_multiplier=1.0, direction=[])),
        ("coefficients", lambda: S.from_coefficients([1.0, 1e150])),
        ("coefficients", lambda: S.from_coefficients([10**400])),
        ("coefficients[0]", lambda: S.from_coefficients([5e-324])),
        ("matrix", lambda: S.from_matrix(np.diag([1.0, 1e-200]))),
        ("steps", lambda: S.bsr(10**12, 3).sensitivity(separation=2)),
        ("steps", lambda: S.bsr(10**12, 3).mean_squared_error()),
        ("steps", lambda: S.bsr(10**6, 3).to_matrix()),
        ("bands", lambda: S.bsr(10**12, 10**12)),
        ("steps", lambda: S.bisr(10**12, 3)),
        ("steps", lambda: S.band_mf(10**12, 3)),
        ("examples", lambda: hs.filters.Individual.gaussian(examples=10**12, mu=1.0)),
    ],
)
def test_refused(name: str, call: Callable[[], object]) -> None:
    """In one sentence that names the parameter, before any memory is taken."""
    error = outcome(call, seconds=5.0)
    assert isinstance(error, InvalidParameter)
    assert error.name == name


@pytest.mark.parametrize(("length", "kind"), [(1e60, PrecisionError), (1e-60, InvalidParameter)])
def test_columns_beside_the_noise(length: float, kind: type[Exception]) -> None:
    """What counts is the noise over the length of a column, and the message says so."""
    plan = hs.Plan(sampling=hs.FullBatch(), steps=2, strategy=S.from_coefficients([length], 2))
    error = outcome(lambda: hs.account(plan, noise_multiplier=1.0))
    assert isinstance(error, kind)
    assert "columns of length" in str(error)


@pytest.mark.parametrize("noise", [5e-324, 1e-200])
def test_noise_of_nothing(noise: float) -> None:
    """Said, where a division or a square used to fail."""
    for plan in (PLAN, hs.Plan(sampling=hs.FullBatch(), steps=3)):
        assert isinstance(
            outcome(lambda plan=plan: hs.account(plan, noise_multiplier=noise)), PrecisionError
        )


def test_shuffling_with_little_noise() -> None:
    """The lower bound in the refusal is computed in logarithms."""
    plan = hs.Plan(sampling=hs.Shuffle(batch_size=1), steps=1)
    error = outcome(lambda: hs.account(plan, noise_multiplier=0.01))
    assert isinstance(error, UnsupportedPlan)


def test_long_values_are_shortened() -> None:
    """An array in an error message takes one line."""
    error = outcome(lambda: hs.Profile.from_pmfs(np.full(10**4, 1.0), [1.0]))
    assert refused(error)
    assert len(str(error)) < 300


@in_one_test
@pytest.mark.parametrize("noise", [1e-40, 1e-20, 1e-9, 1e-6])
@pytest.mark.parametrize("count", [1, 10**6])
def test_epsilon_of_little_noise(noise: float, count: int) -> None:
    """Finite and close to mu^2/2 + z mu, also where the closed form has no digit left."""
    mu = math.sqrt(count) / noise
    profile = hs.Profile.gaussian(noise_multiplier=noise).self_compose(count)
    lower, upper = profile.epsilon_bounds(1e-5)
    z = 4.264890793922825
    assert lower <= mu * (mu / 2 + z)
    assert upper == pytest.approx(mu * (mu / 2 + z), rel=1e-8)


@pytest.mark.parametrize("mu", [1e6, 1e8, 1e15, 1e40])
def test_delta_of_little_noise(mu: float) -> None:
    """Around mu^2/2 delta falls from 1 to 0 within rounding of epsilon; bounds stay on their side.

    Before, the second term of the closed form was the difference of numbers without digits.
    """
    profile = hs.Profile.gaussian(noise_multiplier=1 / mu)
    middle = mu * mu / 2
    for epsilon in (middle * (1 - 1e-12), middle, middle * (1 + 1e-12)):
        lower, upper = profile.delta_bounds(epsilon)
        assert 0 <= lower <= upper <= 1
    assert profile.delta_bounds(middle).upper >= 0.5 >= profile.delta_bounds(middle).lower


def test_both_closed_forms_meet() -> None:
    """At the mu where the second term is left out, the two differ by less than the stated error."""
    for z in (-8.0, -2.0, 0.0, 3.0):
        mu = 1e6
        epsilon = mu * (mu / 2 - z)
        below = gaussian_delta(np.nextafter(mu, 0.0), epsilon)
        assert gaussian_delta(mu, epsilon) == pytest.approx(below, rel=2e-3)


def test_cells_without_digits() -> None:
    """Cells whose ends cannot be told apart hold nothing, and no warning is raised."""
    cells = log_normal_cells(np.array([-1e60, -1e60 + 1.0, 0.0, 1e200]))
    assert not np.isnan(cells).any()
    assert np.logaddexp.reduce(cells) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("noise", [1e-30, 1e-8, 1e-6])
def test_sampling_with_little_noise(noise: float) -> None:
    """P and Q that never meet: delta is the probability of taking part at all."""
    profile = hs.Profile.gaussian(noise_multiplier=noise).subsample(0.1).self_compose(4)
    lower, upper = profile.delta_bounds(1.0, accuracy=0.1)
    assert lower <= 1 - 0.9**4 <= upper
    assert upper == pytest.approx(1 - 0.9**4, rel=1e-6)


def test_denormal_rates() -> None:
    """A rate of 5e-324 is nearly no participation."""
    found = outcome(lambda: hs.Profile.gaussian(noise_multiplier=1.0).subsample(5e-324))
    assert refused(found) or 0 <= found.self_compose(3).epsilon(1e-5) <= 1e-9


@pytest.mark.slow
def test_laplace_with_little_noise() -> None:
    """Cells of thousands of nats beside the loss 0."""
    lower, upper = hs.Profile.laplace(scale=1e-9).self_compose(2).epsilon_bounds(1e-5)
    assert lower <= 2e9 <= upper * (1 + 1e-12)


def test_users_who_are_nearly_always_drawn() -> None:
    """Chances of a head in some throw that add up to more than one by a rounding."""
    profile = several_sampled(PROFILE, rate=1 - 2**-53, copies=22, tries=3)
    certain = hs.Profile.gaussian(noise_multiplier=1 / 22)
    assert profile.epsilon(1e-5) == pytest.approx(certain.epsilon(1e-5), rel=1e-2)


@pytest.mark.slow
def test_smallest_deltas_fail_quickly() -> None:
    """Below the smallest tail no grid helps: said at once, and the lower bound is kept."""
    profile = PROFILE.subsample(0.1).self_compose(4)
    error = outcome(lambda: profile.epsilon(1e-299), seconds=5.0)
    assert isinstance(error, PrecisionError)
    assert 0 < error.lower < error.upper == math.inf


@pytest.mark.slow
def test_errors_of_an_inverse_that_overflows() -> None:
    """Infinite, and not no number."""
    assert S.from_coefficients([1.0, 900.0, 3.0], 1000).mean_squared_error() == math.inf


@pytest.mark.slow
def test_axes_without_positive_numbers() -> None:
    """Logarithmic axes of nothing are drawn, not stumbled over."""
    from hockeystick.report.figure import log_axes, new_figure

    axes = new_figure(width=2.0, height=2.0).add_subplot()
    axes.set_xlim(-1.0, 0.0)
    axes.set_ylim(-2.0, -1.0)
    log_axes(axes)
    assert axes.get_xscale() == "log"


@pytest.mark.parametrize("strength", [20.0, 45.0, 100.0, 1000.0])
def test_minimum_of_strong_mechanisms(strength: float) -> None:
    """The convex hull keeps its corners where e^loss overflows: the weaker one is the minimum.

    Before, all corners between the ends were lost, and the lower bound was above the truth.
    """
    weaker = hs.Profile.gaussian(noise_multiplier=1 / strength)
    stronger = hs.Profile.gaussian(noise_multiplier=0.999 / strength)
    lower, upper = weaker.minimum(stronger).epsilon_bounds(0.01, accuracy=0.1)
    truth = weaker.epsilon_bounds(0.01)
    assert lower <= truth.upper
    assert upper >= truth.lower
    assert upper <= truth.upper * 1.1
