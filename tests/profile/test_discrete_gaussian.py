"""Discrete Gaussian noise and concentrated privacy, against sums over all integers."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import hockeystick as hs
from hockeystick._numerics.divergence import delta_from_law
from hockeystick._numerics.law import Resolution, Side
from hockeystick.profile.expressions.discrete_gaussian import DiscreteGaussian

CASES = [(0.3, 1), (1.0, 1), (1.0, 3), (4.0, 2), (30.0, 7)]


def masses(deviation, shift):
    """Both laws on all integers that matter, from the definition."""
    far = math.ceil(40 * deviation) + shift
    x = np.arange(-far, far + 1)
    p, q = (np.exp(-((x - s) ** 2) / (2 * deviation**2)) for s in (shift, 0))
    return p / p.sum(), q / q.sum()


def divergence(p, q, epsilon):
    """The hockey-stick divergence as a sum."""
    return np.maximum(p - math.exp(epsilon) * q, 0).sum()


@pytest.mark.parametrize(("deviation", "shift"), CASES)
def test_one_step_is_the_sum_over_integers(deviation, shift):
    """Both directions, at losses of atoms and between them."""
    p, q = masses(deviation, shift)
    profile = hs.Profile.discrete_gaussian(deviation=deviation, sensitivity=shift)
    scale = (shift / deviation) ** 2 / 2
    for epsilon in (0.0, scale, 0.7 * scale, 3 * scale, 0.1):
        exact = divergence(p, q, epsilon)
        assert profile.delta(epsilon) == pytest.approx(exact, rel=1e-9, abs=1e-15)
        assert profile.reverse().delta(epsilon) == pytest.approx(exact, rel=1e-9, abs=1e-15)


@pytest.mark.parametrize(("deviation", "shift"), [(0.7, 1), (1.5, 2)])
@pytest.mark.parametrize("rate", [1.0, 0.2])
def test_two_steps_by_enumeration(deviation, shift, rate):
    """All pairs of outputs, sampled or not: between the two sides of the composition."""
    p, q = masses(deviation, shift)
    mixed = rate * p + (1 - rate) * q
    step = hs.Profile.discrete_gaussian(deviation=deviation, sensitivity=shift)
    run = (step.subsample(rate) if rate < 1 else step).self_compose(2)
    first, second = np.outer(mixed, mixed), np.outer(q, q)
    for epsilon in (0.0, 0.5, 1.0, 3.0):
        for profile, (a, b) in ((run, (first, second)), (run.reverse(), (second, first))):
            exact = divergence(a, b, epsilon)
            found = profile.delta_bounds(epsilon)
            assert found.lower * (1 - 1e-9) <= exact <= found.upper * (1 + 1e-9) + 1e-300
            assert found.upper - found.lower < 0.01 * exact + 1e-12


@pytest.mark.parametrize("deviation", [20.0, 1000.0])
@pytest.mark.parametrize("step", [0.3, 0.01])
def test_laws_are_bounds_at_any_resolution(deviation, step):
    """Cells of several integers, atoms, and tails that are cut: above and below the sum."""
    p, q = masses(deviation, 10)
    pair = DiscreteGaussian(deviation, 10)
    for tail in (1e-3, 1e-12):
        upper, lower = (pair.law(side, Resolution(step, tail, 8.0)) for side in Side)
        for epsilon in (0.0, 0.1, 1.0):
            exact = divergence(p, q, epsilon)
            low, high = sorted(
                (delta_from_law(lower, epsilon), delta_from_law(upper, epsilon)),
            )
            assert low <= exact * (1 + 1e-9) + 1e-15
            assert exact <= high * (1 + 1e-9)
            assert high - low <= 0.3 * step * exact + 3 * tail


def test_smaller_shifts_are_dominated():
    """The largest shift is the worst neighbour."""
    profiles = [hs.Profile.discrete_gaussian(deviation=2.0, sensitivity=one) for one in (1, 2, 3)]
    for less, more in itertools.pairwise(profiles):
        for epsilon in (0.0, 0.3, 2.0):
            assert less.delta(epsilon) < more.delta(epsilon)


def test_moments_are_those_of_the_gaussian():
    """E_Q[LR^m] = e^(m (m - 1) mu^2 / 2) at integers, and less between them."""
    p, q = masses(1.3, 2)
    pair = DiscreteGaussian(1.3, 2)
    resolution = Resolution(0.01, 1e-20, 8.0)
    kept = (p > 0) & (q > 0)
    ratio = np.log(p[kept]) - np.log(q[kept])
    found = pair.power_moments(4, reverse=False, resolution=resolution).log
    for order in range(2, 5):
        exact = np.log((q[kept] * np.exp(order * ratio)).sum())
        assert found[order] == pytest.approx(exact, rel=1e-9)
    orders = np.array([1.0, 1.3, 2.5, 3.7])
    nodes = pair.moment_nodes(orders, reverse=False, resolution=resolution).log
    for order, bound in zip(orders, nodes, strict=True):
        assert np.log((q[kept] * np.exp(order * ratio)).sum()) <= bound * (1 + 1e-12) + 1e-12


def test_large_noise_is_like_the_gaussian():
    """At deviation 1e4 both have the same numbers to a thousandth; larger ones are refused."""
    wide = hs.Profile.discrete_gaussian(deviation=1e4, sensitivity=5_000).self_compose(3)
    gaussian = hs.Profile.gaussian(noise_multiplier=2.0).self_compose(3)
    assert wide.epsilon(1e-6) == pytest.approx(gaussian.epsilon(1e-6), rel=2e-3)
    with pytest.raises(hs.errors.InvalidParameter, match="deviation"):
        hs.Profile.discrete_gaussian(deviation=2e5)


def test_concentrated_privacy_adds_up():
    """Compositions are those of the sums; mechanisms of that kind are below; order by both."""
    one, other = hs.Profile.zcdp(0.1), hs.Profile.zcdp(0.2, 0.3)
    assert one.compose(other).epsilon(1e-6) == hs.Profile.zcdp(0.1 + 0.2, 0.3).epsilon(1e-6)
    assert one.self_compose(4).epsilon(1e-6) == hs.Profile.zcdp(0.4).epsilon(1e-6)
    assert other.dominates(one)
    assert not one.dominates(other)
    assert not hs.Profile.zcdp(0.3).dominates(other)
    for rho in (0.02, 0.5):
        bound = hs.Profile.zcdp(rho)
        kinds = (
            hs.Profile.gaussian(noise_multiplier=1 / math.sqrt(2 * rho)),
            hs.Profile.discrete_gaussian(deviation=1 / math.sqrt(2 * rho)),
            hs.Profile.randomized_response(epsilon=math.sqrt(2 * rho)),
        )
        for kind in kinds:
            for epsilon in (0.0, 0.1, 1.0, 4.0):
                assert kind.delta(epsilon) <= bound.delta(epsilon)
                assert kind.subsample(0.1).delta(epsilon) <= bound.subsample(0.1).delta(epsilon)


def test_on_the_command_line(capsys):
    """As a plan's mechanism."""
    from hockeystick.cli.main import main

    run = ["--sampling", "poisson", "--rate", "0.1", "--steps", "20", "--delta", "1e-5"]
    for name in ("discrete-gaussian:2", "zcdp:0.1"):
        assert main(["epsilon", *run, "--mechanism", name]) == 0
        assert "proven" in capsys.readouterr().out
