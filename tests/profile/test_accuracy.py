"""The requested accuracy is reached, or the error says what was."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from hockeystick import Profile
from hockeystick.errors import HockeystickError, PrecisionError

# Together they take seconds; `make test` runs them.
pytestmark = pytest.mark.slow

SAMPLED = Profile.gaussian(noise_multiplier=1.0).subsample(0.02)


@pytest.mark.parametrize("accuracy", [0.1, 1e-2, 1e-3])
@pytest.mark.parametrize("delta", [1e-2, 1e-6, 1e-20])
def test_epsilon_bounds_are_within_the_accuracy(accuracy, delta):
    """Upper and lower epsilon differ by at most the relative amount asked for."""
    for profile in (SAMPLED.self_compose(300), SAMPLED.self_compose(300).reverse()):
        lower, upper = profile.epsilon_bounds(delta, accuracy=accuracy)
        assert lower <= upper
        assert upper - lower <= accuracy * max(upper, 1e-3)


@pytest.mark.parametrize("accuracy", [0.1, 1e-2, 1e-3])
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
def test_delta_bounds_are_within_the_accuracy(accuracy, epsilon):
    """Upper and lower delta differ by at most five times the relative amount asked for."""
    lower, upper = SAMPLED.self_compose(300).delta_bounds(epsilon, accuracy=accuracy)
    assert lower <= upper
    assert upper - lower <= 5 * accuracy * upper


def test_finer_answers_stay_inside_coarser_ones():
    """Bounds of different accuracy on one number all enclose it."""
    answers = [
        SAMPLED.self_compose(300).epsilon_bounds(1e-6, accuracy=accuracy)
        for accuracy in (0.1, 0.01, 1e-3, 1e-4)
    ]
    assert max(low for low, _ in answers) <= min(high for _, high in answers)


def test_the_answer_is_the_side_that_was_asked_for():
    """An upper profile answers with the upper bound, a lower one with the lower bound."""
    lower, upper = SAMPLED.self_compose(50).epsilon_bounds(1e-6)
    assert SAMPLED.self_compose(50).epsilon(1e-6) == upper
    below = Profile.gaussian(noise_multiplier=1.0, bound="lower").subsample(0.02).self_compose(50)
    assert below.epsilon(1e-6) == lower


def gaussian_by_cells(edges, **options):
    """The Gaussian mechanism, known only between a few losses."""
    z = np.asarray(edges) + 0.5
    p, q = _normal_cells(z - 1), _normal_cells(z)
    return Profile.from_cells(edges, p=p / p.sum(), q=q / q.sum(), **options)


def _normal_cells(z):
    """Masses between the z, from whichever tail is the smaller one."""
    return np.where(z[1:] > 0, -np.diff(norm.sf(z)), np.diff(norm.cdf(z)))


COARSE = np.array([-math.inf, -2.0, -1.0, -0.4, 0.0, 0.4, 1.0, 2.0, math.inf])


@pytest.mark.parametrize("count", [1, 3])
def test_coarse_cells_raise_with_bounds(count):
    """Eight cells cannot give three digits: the error carries proven bounds instead."""
    profile = gaussian_by_cells(COARSE).self_compose(count)
    truth = Profile.gaussian(noise_multiplier=1.0).self_compose(count)
    for ask, at in (("epsilon", 1e-2), ("delta", 0.7)):
        with pytest.raises(PrecisionError) as caught:
            getattr(profile, ask)(at)
        assert isinstance(caught.value, HockeystickError)
        assert caught.value.lower < getattr(truth, ask)(at) < caught.value.upper
        assert "accuracy" in str(caught.value)


def test_coarse_cells_answer_roughly():
    """The same cells are enough for a rough answer."""
    truth = Profile.gaussian(noise_multiplier=1.0).delta(0.2)
    lower, upper = gaussian_by_cells(COARSE).delta_bounds(0.2, accuracy=0.2)
    assert lower < truth < upper <= lower * 2


@pytest.mark.parametrize("count", [4, 9, 40, 400])
@pytest.mark.parametrize("reverse", [False, True])
def test_cells_enclose_the_gaussian(count, reverse):
    """Few cells or many, composed or not, lower <= truth <= upper."""
    edges = np.concatenate(([-math.inf], np.linspace(-6.0, 6.0, count), [math.inf]))
    profile = gaussian_by_cells(edges)
    for runs in (1, 2, 5):
        asked = profile.self_compose(runs)
        asked = asked.reverse() if reverse else asked
        for epsilon in (0.0, 0.6, 2.0):
            truth = Profile.gaussian(noise_multiplier=1.0).self_compose(runs).delta(epsilon)
            try:
                lower, upper = asked.delta_bounds(epsilon, accuracy=0.05)
            except PrecisionError as error:
                lower, upper = error.lower, error.upper
            assert lower <= truth * (1 + 1e-8)
            assert truth <= upper * (1 + 1e-8)


def test_fine_cells_reach_the_accuracy():
    """With enough cells no error is needed."""
    edges = np.concatenate(([-math.inf], np.linspace(-12.0, 12.0, 4000), [math.inf]))
    truth = Profile.gaussian(noise_multiplier=1.0).epsilon(1e-5)
    lower, upper = gaussian_by_cells(edges).epsilon_bounds(1e-5)
    assert lower <= truth * (1 + 1e-9)
    assert truth <= upper * (1 + 1e-9)
    assert upper - lower <= 1e-3 * upper


def test_cells_with_mass_at_infinity():
    """P-mass in a last cell without Q-mass is an atom at infinity, alone and composed."""
    profile = Profile.from_cells(
        [-math.inf, -0.5, 0.5, math.inf], p=[0.1, 0.6, 0.3], q=[0.4, 0.6, 0.0]
    )
    for count in (1, 2, 5):
        want = 1 - 0.7**count
        bounds = profile.self_compose(count).delta_bounds(50.0, accuracy=0.5)
        assert bounds.lower <= want * (1 + 1e-9)
        assert bounds.upper >= want * (1 - 1e-9)
        assert bounds.upper == pytest.approx(want, rel=1e-6)


def test_cells_wider_than_floating_point():
    """A cell from e^-500 to e^400 holds a pair that may be anything in between."""
    profile = Profile.from_cells([-500.0, 400.0], p=[1.0], q=[1.0])
    with pytest.raises(PrecisionError) as caught:
        profile.delta(1.0)
    assert caught.value.lower == 0.0
    assert caught.value.upper == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize("sigma", [1e-8, 1e-12])
def test_absurdly_little_noise(sigma):
    """Beyond the searched range the upper bound is infinite, the lower bound is not."""
    lower, upper = Profile.gaussian(noise_multiplier=sigma).epsilon_bounds(1e-5)
    truth = 1 / sigma**2 / 2
    assert lower <= truth * 1.1
    assert upper >= truth
