"""Bounds made of others: the best of several, a sampled run, both directions from one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

import hockeystick as hs
from hockeystick.analyses.renyi.bound import MomentBound, moments_of
from hockeystick.bounds.combined import (
    BestOf,
    ByDirection,
    RemoveDecides,
    RemoveForAdd,
    SubsampledBound,
    directions_that_decide,
    subsampled,
)
from hockeystick.bounds.profiles import ProfileBound, upper_side
from hockeystick.profile import Profile
from in_one_test import in_one_test

LOW = ProfileBound(hs.Profile.gaussian(noise_multiplier=2.0))
HIGH = ProfileBound(hs.Profile.gaussian(noise_multiplier=1.0))
SAMPLED = hs.Profile.gaussian(noise_multiplier=0.5).subsample(0.01).self_compose(20)
BOTH = ("remove", "add")


def epsilon(bound, directions=BOTH, delta=1e-5):
    """The upper bound on epsilon."""
    return bound.epsilon(delta, directions=directions, accuracy=1e-3).value


def delta(bound, directions=BOTH, at=1.0):
    """The upper bound on delta."""
    return bound.delta(at, directions=directions, accuracy=1e-3).value


def test_best_of_several():
    """The smallest number, whatever the order in which they are given."""
    for bounds in ([LOW, HIGH], [HIGH, LOW]):
        assert epsilon(BestOf(bounds)) == epsilon(LOW)
        assert delta(BestOf(bounds)) == delta(LOW)
        assert BestOf(bounds).as_profile().delta(1.0) == pytest.approx(delta(LOW), rel=1e-2)


def test_best_of_is_decided_by_direction():
    """A bound that is better in one direction only is taken there."""
    skewed = upper_side(SAMPLED)
    middle = ProfileBound(hs.Profile.gaussian(noise_multiplier=1.6))
    assert epsilon(skewed, ("add",)) < epsilon(middle) < epsilon(skewed, ("remove",))
    best = BestOf([skewed, middle])
    assert epsilon(best, ("add",)) == pytest.approx(epsilon(skewed, ("add",)), rel=2e-3)
    assert epsilon(best, ("remove",)) == epsilon(middle)
    assert epsilon(best) == epsilon(middle)


def test_each_direction_has_its_own_bounds():
    """The larger of the two directions decides, and says where it came from."""
    bound = ByDirection(remove={"low": LOW}, add={"high": HIGH, "low": LOW})
    assert epsilon(bound) == epsilon(LOW)
    bound = ByDirection(remove={"low": LOW}, add={"high": HIGH})
    assert epsilon(bound, ("remove",)) == epsilon(LOW)
    assert epsilon(bound) == epsilon(HIGH)
    assert delta(bound, ("add",)) == delta(HIGH)
    worst = bound.epsilon(1e-5, directions=BOTH, accuracy=1e-3)
    assert (worst.direction, worst.details, worst.lower) == ("add", {}, None)
    several = ByDirection(remove={"low": LOW}, add={"higher": HIGH, "high": HIGH})
    assert several.delta(1.0, directions=BOTH, accuracy=1e-3).details == {"bounded_by": "higher"}


def test_profile_of_two_directions():
    """One pair with both bounds, which is valid and close."""
    known = {"exact": upper_side(SAMPLED), "worse": HIGH}
    profile = ByDirection(remove=known, add=known).as_profile()
    for at in (0.02, 0.05, 0.1):
        for found, exact in (
            (profile.delta(at), SAMPLED.delta(at)),
            (profile.reverse().delta(at), SAMPLED.reverse().delta(at)),
        ):
            assert exact * (1 - 1e-2) <= found <= exact * 1.05


def test_bounds_that_do_not_fit_together():
    """A profile is convex across both directions: the worse one is improved by the better one."""
    profile = ByDirection(remove={"low": LOW}, add={"high": HIGH}).as_profile()
    assert profile.delta(1.0) == pytest.approx(delta(LOW), rel=0.02)
    assert delta(LOW) < profile.reverse().delta(1.0) < delta(HIGH)


STEP = hs.Profile.gaussian(noise_multiplier=0.8)
FULL = ProfileBound(STEP)
DIRECTIONS = [("remove",), ("add",), BOTH]


@in_one_test
@pytest.mark.parametrize("directions", DIRECTIONS)
@pytest.mark.parametrize("rate", [0.9, 0.3, 0.01])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0, 4.0])
def test_delta_is_that_of_the_subsampled_profile(rate, epsilon, directions):
    """The formulas agree with those of `Profile.subsample`."""
    found = SubsampledBound(FULL, rate).delta(epsilon, directions=directions, accuracy=1e-3)
    exact = STEP.subsample(rate).delta_bounds(epsilon, directions=directions)
    assert found.value == pytest.approx(exact.upper, rel=1e-8, abs=1e-300)


@in_one_test
@pytest.mark.parametrize("directions", DIRECTIONS)
@pytest.mark.parametrize("rate", [0.9, 0.3, 0.01])
@pytest.mark.parametrize("delta", [0.5, 1e-2, 1e-6, 1e-12])
def test_epsilon_is_an_upper_bound_and_close(rate, delta, directions):
    """Exact in the remove direction; in the add direction at most a little above."""
    found = SubsampledBound(FULL, rate).epsilon(delta, directions=directions, accuracy=1e-3)
    exact = STEP.subsample(rate).epsilon_bounds(delta, directions=directions)
    assert found.value >= exact.lower * (1 - 1e-9)
    if directions == ("remove",):
        assert found.value == pytest.approx(exact.upper, rel=1e-6)


def test_as_profile_is_the_subsampled_pair():
    """What is composed further is the pair of the full run, subsampled."""
    profile = SubsampledBound(FULL, 0.3).as_profile()
    assert profile.delta(0.5) == STEP.subsample(0.3).delta(0.5)
    assert subsampled(FULL, 1.0) is FULL


EPSILONS = (0.01, 0.1, 0.3, 0.7, 1.5, 3.0)


def both_directions(means, weights, epsilon):
    """E_Q(LR - e^epsilon)+ and E_Q(1 - e^epsilon LR)+ of a mixture in the plane, by quadrature."""
    grid = np.linspace(-9.5, 9.5, 381)
    x, y = np.meshgrid(grid, grid)
    mass = np.exp(-(x**2 + y**2) / 2) / (2 * np.pi) * (grid[1] - grid[0]) ** 2
    ratio = sum(
        weight * np.exp(a * x + b * y - (a * a + b * b) / 2)
        for weight, (a, b) in zip(weights, means, strict=True)
    )
    level = math.exp(epsilon)
    remove = float((np.maximum(ratio - level, 0) * mass).sum())
    return remove, float((np.maximum(1 - level * ratio, 0) * mass).sum())


@in_one_test
@pytest.mark.parametrize("seed", range(12))
def test_adding_never_exceeds_removing(seed):
    """Whatever the means, also with negative inner products, and whatever the weights."""
    rng = np.random.default_rng(seed)
    number = int(rng.integers(1, 6))
    means = rng.normal(size=(number, 2)) * rng.choice([0.2, 0.6, 1.2])
    if seed % 2:
        means = np.abs(means)
    if seed % 3 == 0:
        means[0] = 0.0
    weights = rng.dirichlet(np.full(number, rng.choice([0.3, 1.0])))
    for epsilon in EPSILONS:
        remove, add = both_directions(means, weights, epsilon)
        # What the grid leaves out, at kinks of the integrand.
        assert add <= remove * (1 + 2e-3) + 1e-12


@in_one_test
@pytest.mark.parametrize("slope", [0.05, 0.4, 1.0, 3.0])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_line_of_the_proof(slope, epsilon):
    """The difference for an affine function is not negative, with the constant that is taken."""

    def stick(level):
        x = math.log(level) / slope
        return norm.cdf(slope / 2 - x) - level * norm.cdf(-slope / 2 - x)

    level = math.exp(epsilon)
    for factor in np.exp(np.linspace(-12, 6, 145)):
        kappa = 0.0 if factor >= 1 else 1.0
        found = factor * stick(level / factor) - stick(level * factor) - kappa * (factor - 1)
        assert found >= -1e-14 * max(1.0, factor)


def test_convexity_is_needed():
    """For a concave function of a normal variable it is the other way round."""
    z, epsilon = np.linspace(-9, 9, 20_001), 0.5
    mass = np.exp(-z * z / 2)
    mass /= mass.sum()
    loss = np.where(z < 0, 2.0 * z, 0.1 * z)
    loss -= math.log(float((np.exp(loss) * mass).sum()))
    level = math.exp(epsilon)
    remove = float((np.maximum(np.exp(loss) - level, 0) * mass).sum())
    assert float((np.maximum(1 - level * np.exp(loss), 0) * mass).sum()) > remove


def test_remove_decides():
    """Both directions are the remove direction; adding alone takes the better bound."""
    pair = Profile.gaussian(noise_multiplier=1.25).subsample(0.2).self_compose(10)
    moments = MomentBound(moments_of(pair.expression))
    decided = RemoveDecides(moments, add={"own": moments, "remove": RemoveForAdd(moments)})
    for query, at in (("epsilon", 1e-4), ("delta", 1.0)):
        options = {"accuracy": 0.01}
        remove = getattr(moments, query)(at, directions=("remove",), **options).value
        add = getattr(moments, query)(at, directions=("add",), **options).value
        found = getattr(decided, query)(at, directions=("remove", "add"), **options)
        assert (found.value, found.direction) == (remove, "remove")
        alone = getattr(decided, query)(at, directions=("add",), **options)
        assert (alone.value, alone.direction) == (min(remove, add), "add")
    assert directions_that_decide(("add",)) == ("add",)


def test_the_profile_of_remove_for_add_covers_both_directions():
    """At every epsilon its two sides are at least the true ones of the mixture."""
    pair = Profile.gaussian(noise_multiplier=1.25).subsample(0.2).self_compose(10)
    symmetric = RemoveForAdd(MomentBound(moments_of(pair.expression))).as_profile()
    for epsilon in (0.0, 0.4, 1.0, 2.0):
        truth = pair.delta_bounds(epsilon, directions=("remove",), accuracy=0.01).lower
        for side in ("remove", "add"):
            found = symmetric.delta_bounds(epsilon, directions=(side,), accuracy=0.01)
            assert found.upper >= truth


def answers(bands, steps, noise):
    """Epsilon of removing, adding and both, and that of adding by `poisson-reduction`."""
    sampling = hs.MinSep.for_batch_size(500, examples=50_000, separation=bands)
    strategy = hs.strategies.bsr(steps, bands=bands)
    plan = hs.Plan(sampling=sampling, steps=steps, strategy=strategy)
    return [
        hs.account(plan, noise_multiplier=noise, method=method, direction=side).epsilon(1e-5)
        for method, side in (
            ("renyi", "remove"),
            ("renyi", "add"),
            ("renyi", "both"),
            ("poisson-reduction", "add"),
        )
    ]


@pytest.mark.slow
def test_min_sep_takes_the_remove_direction_for_both():
    """And the better of the two ways for adding alone."""
    remove, add, both, crude = answers(2, 20, 1.5)
    assert both == remove
    assert add == min(remove, crude)


@pytest.mark.long
def test_min_sep_where_adding_was_bounded_crudely():
    """32 bands at a low noise: removing is far better for both."""
    remove, add, both, crude = answers(32, 2000, 2.05)
    assert both == remove == add == pytest.approx(7.697, rel=1e-3)
    assert crude > 11.5
