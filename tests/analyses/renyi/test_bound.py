"""From moments to epsilon and delta."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hockeystick._numerics.gaussian import gaussian_delta
from hockeystick._numerics.moments import PowerMoments
from hockeystick.analyses.renyi.bound import (
    delta_from_moments,
    epsilon_from_moments,
    larger_orders_may_help,
)
from in_one_test import in_one_test


def gaussian_moments(mu, largest=200, apart=0.0):
    """log E[LR^m] = m (m - 1) mu^2 / 2."""
    m = np.arange(largest + 1.0)
    return PowerMoments(m * (m - 1) * mu**2 / 2, apart)


def best_of_a_grid(mu, epsilon):
    """The formula of Canonne, Kamath & Steinke at many integer orders."""
    a = np.arange(2.0, 200)
    log = (a - 1) * (a * mu**2 / 2 - epsilon) + a * np.log1p(-1 / a) - np.log(a - 1)
    return math.exp(log.min())


@in_one_test
@pytest.mark.parametrize("mu", [0.1, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_a_bound_on_the_gaussian_mechanism(mu, epsilon):
    """Above the exact delta, and at least as good as the best integer order."""
    found = delta_from_moments(gaussian_moments(mu), epsilon)
    assert gaussian_delta(mu, epsilon) <= found.value <= 1
    assert found.value <= min(1.0, best_of_a_grid(mu, epsilon)) * (1 + 1e-7)
    assert 1 <= found.order <= 200


@in_one_test
@pytest.mark.parametrize("mu", [0.05, 0.5, 2.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-5, 0.1])
def test_epsilon_and_delta_are_inverse(mu, delta):
    """Delta at the epsilon found is delta, unless epsilon = 0 does already."""
    moments = gaussian_moments(mu, 400)
    epsilon = epsilon_from_moments(moments, delta).value
    reached = delta_from_moments(moments, epsilon).value
    assert reached == pytest.approx(delta, rel=1e-6) or (epsilon == 0 and reached < delta)


def test_orders_between_integers_help():
    """A chord between two orders beats both of its ends."""
    found = delta_from_moments(gaussian_moments(1.0), 2.65)
    assert 3 < found.order < 4
    assert found.value < best_of_a_grid(1.0, 2.65) * (1 - 1e-4)


def test_mass_at_infinity_is_added():
    """It is part of delta, and no epsilon helps against more of it than delta allows."""
    plain, heavy = gaussian_moments(0.5), gaussian_moments(0.5, apart=1e-6)
    difference = delta_from_moments(heavy, 1.0).value - delta_from_moments(plain, 1.0).value
    assert difference == pytest.approx(1e-6, rel=1e-6)
    assert epsilon_from_moments(heavy, 1e-6).value == math.inf
    assert epsilon_from_moments(heavy, 2e-6).value < math.inf


def test_no_loss_needs_no_epsilon():
    """A mechanism that reveals nothing: the conversion still costs what it costs at order a."""
    moments = PowerMoments(np.zeros(65))
    assert delta_from_moments(moments, 5.0).value < 1e-100
    assert epsilon_from_moments(moments, 1e-3).value < 0.15


def test_larger_orders_are_given_up():
    """Once the divergence exceeds the epsilon that is known, and not before."""
    moments = gaussian_moments(1.0, 20)
    assert larger_orders_may_help(moments, 10.1)
    assert not larger_orders_may_help(moments, 9.9)
