"""Grids of every size: bounds never cross each other or the truth, and close at second order."""

from __future__ import annotations

import numpy as np
import pytest

from hockeystick import Profile
from hockeystick._numerics.divergence import delta_from_law, epsilon_from_law
from hockeystick._numerics.law import reverse
from hockeystick.profile.refinement import Resolution
from in_one_test import in_one_test
from references.gaussian import gaussian_delta

STEPS = (0.2, 0.1, 0.05, 0.025, 0.0125)
GAUSSIAN = Profile.gaussian(noise_multiplier=1.0)
CASES = {
    "poisson": GAUSSIAN.subsample(0.01).self_compose(1000),
    "allocation": GAUSSIAN.allocate(100),
    "laplace": Profile.laplace(scale=2.0).self_compose(50),
    "phases": GAUSSIAN.subsample(0.1)
    .self_compose(30)
    .compose(Profile.gaussian(noise_multiplier=2.0).subsample(0.2).self_compose(7))
    .compose(Profile.from_epsilon_delta(0.1, 1e-4)),
    "allocations": Profile.gaussian(noise_multiplier=0.7).allocate(13).self_compose(5),
    "sampled block": Profile.laplace(scale=1.0).self_compose(20).subsample(0.05).self_compose(9),
}
DIRECTIONS = {"remove": lambda law: law, "add": reverse}


def laws(profile, step):
    """Both sides on a grid of the given step."""
    return profile.evaluator.laws(Resolution(step, 1e-15, 24.0))


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("case", CASES)
def test_no_lower_bound_exceeds_an_upper_bound(case, direction):
    """Any lower bound of any grid is below any upper bound of any other, for all epsilons."""
    see = DIRECTIONS[direction]
    computed = [laws(CASES[case], step) for step in STEPS]
    for epsilon in np.linspace(-0.5, 1, 31) * see(computed[-1].upper).loss[-1]:
        lowest_upper = min(delta_from_law(see(pair.upper), epsilon) for pair in computed)
        highest_lower = max(delta_from_law(see(pair.lower), epsilon) for pair in computed)
        assert highest_lower <= lowest_upper * (1 + 1e-9)


@in_one_test
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("delta", [1e-3, 1e-6])
@pytest.mark.parametrize("case", ["poisson", "allocation"])
def test_second_order_convergence(case, delta, direction):
    """The gap between the bounds falls with the square of the step."""
    see = DIRECTIONS[direction]
    gaps = []
    for step in STEPS:
        lower, upper = (epsilon_from_law(see(law), delta) for law in laws(CASES[case], step))
        gaps.append(upper - lower)
    order = np.polyfit(np.log(STEPS), np.log(gaps), 1)[0]
    assert order >= 1.7


@in_one_test
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("count", [2, 7, 64])
def test_composition_encloses_the_fused_gaussian(step, count):
    """A Gaussian hidden from the closed form, composed on a grid, encloses the closed form."""
    # A pair given by its cells is not recognised as a member of the family.
    hidden = GAUSSIAN.subsample(1 - 1e-12).self_compose(count)
    mu = np.sqrt(count)
    for see in DIRECTIONS.values():
        lower, upper = (see(law) for law in laws(hidden, step))
        for deviations in (0.0, 1.0, 3.0, 5.0):
            epsilon = mu * (mu / 2 + deviations)
            value = float(gaussian_delta(mu, epsilon))
            # The rate differs from one by 1e-12 in each step.
            assert delta_from_law(lower, epsilon) <= value * (1 + 1e-7)
            assert value <= delta_from_law(upper, epsilon) * (1 + 1e-7)


@pytest.mark.parametrize("tail", [1e-2, 1e-4, 1e-8, 1e-30])
def test_truncation_is_charged(tail):
    """However much tail is cut off, the bounds hold; what is cut appears at infinity."""
    profile = CASES["poisson"]
    reference = laws(profile, 0.0125)
    rough = profile.evaluator.laws(Resolution(0.05, tail, 24.0))
    assert rough.upper.p_infinite <= tail
    assert rough.lower.p_infinite == 0.0
    for see in DIRECTIONS.values():
        for epsilon in (0.0, 0.5, 1.0, 2.0, 4.0):
            truth = [delta_from_law(see(law), epsilon) for law in reference]
            assert delta_from_law(see(rough.lower), epsilon) <= truth[1] * (1 + 1e-9)
            assert truth[0] <= delta_from_law(see(rough.upper), epsilon) * (1 + 1e-9)


@in_one_test
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("step", [0.2, 0.02])
def test_masses_are_kept(case, step):
    """P and Q sum to one on both sides, whatever has been cut, split and merged."""
    for law in laws(CASES[case], step):
        assert law.p.sum() + law.p_infinite == pytest.approx(1.0, rel=1e-9)
        assert law.q.sum() + law.q_zero == pytest.approx(1.0, rel=1e-9)
