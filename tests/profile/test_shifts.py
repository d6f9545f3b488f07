"""Gaussian noise on a random shift, against integrals on either side of LR = e^epsilon."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad

from hockeystick import Profile
from hockeystick._numerics.divergence import delta_from_law
from hockeystick._numerics.law import Resolution, Side, reverse
from hockeystick._numerics.moments import moments_of_law
from hockeystick.profile.expressions.mechanisms import GaussianPair, Shifts, random_shift
from hockeystick.profile.expressions.sampled import Subsampled
from hypothesis_strategies import thinned
from references.outcomes import exact, number

# Together they take seconds; `make test` runs them.
pytestmark = pytest.mark.slow

CASES = {
    "two": Shifts((0.3, 1.0), (0.4, 0.6)),
    "three with zero": Shifts((0.0, 0.5, 2.0), (0.9, 0.07, 0.03)),
    "rare and large": Shifts((0.0, 0.1, 4.0), (0.5, 0.5 - 1e-5, 1e-5)),
    "tiny": Shifts((0.0, 1e-4, 3e-4), (0.98, 0.01, 0.01)),
    "many": Shifts(tuple(0.1 * i for i in range(9)), tuple(i / 45 for i in range(1, 10))),
}
STEPS = (0.3, 0.1, 0.03)
# Masses of cells are differences of tails: this accurate, relative to their sum.
ROUNDING = 1e-9


def levels(pair):
    """Shifts and weights in fifty digits."""
    return [(number(level), number(w)) for level, w in zip(pair.shifts, pair.weights, strict=True)]


def likelihood(pair, x):
    """LR at the observation x, in fifty digits."""
    return exact.fsum(w * exact.exp(level * x - level**2 / 2) for level, w in levels(pair))


def turning_point(pair, epsilon):
    """The x with LR = e^epsilon, by bisection; None if LR is always above."""
    goal = exact.exp(number(epsilon))
    low, high = number(-1000), number(1000)
    if likelihood(pair, low) >= goal:
        return None
    for _ in range(160):
        middle = (low + high) / 2
        low, high = (middle, high) if likelihood(pair, middle) < goal else (low, middle)
    return high


def delta_of(pair, epsilon, *, backwards):
    """H(P || Q) or H(Q || P) at e^epsilon, in fifty digits."""
    gamma = exact.exp(number(epsilon))
    if not backwards:
        x = turning_point(pair, epsilon)
        if x is None:
            return 1 - gamma
        above = exact.fsum(w * exact.ncdf(level - x) for level, w in levels(pair))
        return above - gamma * exact.ncdf(-x)
    # Q against P: LR < e^-epsilon, to the left of the point.
    x = turning_point(pair, -epsilon)
    if x is None:
        return number(0)
    below = exact.fsum(w * exact.ncdf(x - level) for level, w in levels(pair))
    return exact.ncdf(x) - gamma * below


def epsilons(pair):
    """From where delta is large to far in the tail."""
    top = pair.shifts[-1]
    return [top * (top / 2 + z) for z in (-2.0, -0.5, 0.0, 1.0, 3.0)]


@pytest.mark.parametrize("case", CASES)
def test_the_closed_form_is_the_integral(case):
    """The reference itself, against adaptive quadrature of the positive part."""
    pair = CASES[case]
    for epsilon in epsilons(pair)[1:4]:
        point = turning_point(pair, epsilon)
        if point is None:
            continue

        def gain(x, epsilon=epsilon):
            level, weight = np.array(pair.shifts), np.array(pair.weights)
            ratio = float(weight @ np.exp(level * (x - level / 2)))
            return (ratio - math.exp(epsilon)) * math.exp(-x * x / 2) / math.sqrt(2 * math.pi)

        value, _ = quad(gain, float(point), pair.shifts[-1] + 12, epsabs=0, epsrel=1e-11, limit=200)
        assert value == pytest.approx(float(delta_of(pair, epsilon, backwards=False)), rel=1e-6)


@pytest.mark.parametrize("tail", thinned([1e-12, 1e-3, 1e-40], normal=1))
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("case", CASES)
def test_both_sides_enclose_the_truth(case, step, tail):
    """Any grid, any cut: lower <= truth <= upper, removing and adding."""
    pair = CASES[case]
    laws = [pair.law(side, Resolution(step, tail, 24.0)) for side in (Side.LOWER, Side.UPPER)]
    for law in laws:
        assert law.p.sum() + law.p_infinite == pytest.approx(1.0, rel=ROUNDING)
        assert law.q.sum() + law.q_zero == pytest.approx(1.0, rel=ROUNDING)
        assert np.all(np.diff(law.loss) > 0)
    for backwards in (False, True):
        lower, upper = (reverse(law) if backwards else law for law in laws)
        for epsilon in epsilons(pair):
            truth = float(delta_of(pair, epsilon, backwards=backwards))
            assert delta_from_law(lower, epsilon) <= truth * (1 + ROUNDING) + 1e-300
            assert truth <= delta_from_law(upper, epsilon) * (1 + ROUNDING) + 1e-300


@pytest.mark.parametrize("case", CASES)
def test_profiles_are_as_accurate_as_asked(case):
    """The refined bounds close around the truth, in both directions."""
    pair = CASES[case]
    for epsilon in epsilons(pair)[1:]:
        for backwards in (False, True):
            truth = float(delta_of(pair, epsilon, backwards=backwards))
            if truth <= 1e-14:
                continue
            profile = Profile(pair.reverse() if backwards else pair)
            lower, upper = profile.delta_bounds(epsilon)
            assert lower <= truth * (1 + ROUNDING)
            assert truth <= upper * (1 + ROUNDING)
            assert upper <= truth * 1.01


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("case", ["two", "three with zero", "many"])
def test_moments_are_upper_bounds(case, backwards):
    """Against a quadrature of the power itself."""
    pair = CASES[case]
    found = pair.power_moments(4, reverse=backwards, resolution=Resolution(0.02, 1e-30, 24.0))
    x = np.linspace(-14, 14 + 4 * pair.shifts[-1], 40_001)
    level, weight = np.array(pair.shifts)[:, None], np.array(pair.weights)[:, None]
    ratio = (weight * np.exp(level * x - level**2 / 2)).sum(axis=0)
    q = np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi) * (x[1] - x[0])
    for m in range(2, 5):
        truth = math.log(float((q * ratio ** (1 - m if backwards else m)).sum()))
        assert truth * (1 - 1e-9) <= found.log[m] <= truth * 1.01
    assert found.apart <= 1e-29


def test_moments_of_one_level_are_those_of_a_gaussian():
    """The formula instead of the law."""
    pair = Shifts((0.7,), (1.0,))
    coarse = Resolution(0.05, 1e-20, 24.0)
    for backwards in (False, True):
        found = pair.power_moments(6, reverse=backwards, resolution=coarse)
        m = np.arange(7)
        assert found.log == pytest.approx(0.49 * m * (m - 1) / 2, rel=1e-12)
        law = pair.law(Side.UPPER, coarse)
        assert np.all(moments_of_law(law, 6).log >= found.log * (1 - 1e-12))


def test_normal_forms():
    """Equal shifts joined, weights scaled, what has no weight left out, known pairs recognised."""
    assert random_shift([2.0, 0.5, 2.0], [1.0, 2.0, 1.0]) == Shifts((0.5, 2.0), (0.5, 0.5))
    assert random_shift([1.0, 0.3, 0.0], [0.2, 0.0, 0.8]) == GaussianPair(1.0).subsample(0.2)
    assert random_shift([0.4, 0.4], [0.3, 0.7]) == GaussianPair(0.4)
    assert random_shift([0.4, 9.0], [1.0, 0.0]) == GaussianPair(0.4)
    assert random_shift([0.0, 1.0], [0.0, 1.0]) == GaussianPair(1.0)
    three = random_shift([0.0, 1.0, 2.0], [3.0, 2.0, 1.0])
    assert isinstance(three, Shifts)
    assert math.fsum(three.weights) == pytest.approx(1.0, rel=1e-15)
    assert three.weights == pytest.approx((1 / 2, 1 / 3, 1 / 6), rel=1e-15)


@pytest.mark.parametrize("weights", [(0.9, 0.1), (0.2, 0.8)])
def test_two_levels_agree_with_the_sampled_gaussian(weights):
    """Zero or one level: the same pair as Poisson sampling, through the other formula."""
    pair = Shifts((0.0, 1.5), weights)
    sampled = Profile(GaussianPair(1.5).subsample(weights[1]))
    for profile, other in ((Profile(pair), sampled), (Profile(pair).reverse(), sampled.reverse())):
        for delta in (1e-2, 1e-8):
            low, high = profile.epsilon_bounds(delta)
            other_low, other_high = other.epsilon_bounds(delta)
            assert low <= other_high * (1 + 1e-9)
            assert other_low <= high * (1 + 1e-9)


@pytest.mark.parametrize("weight", [1e-14, 1e-17, 1e-30])
def test_rare_shifts_beyond_all_noise_keep_their_weight(weight):
    """A shift of 70 is seen for sure, however little it weighs beside the others."""
    profile = Profile(Shifts((0.5, 70.0), (1 - weight, weight)))
    assert profile.delta(60.0) >= weight * (1 - 1e-15)


@pytest.mark.parametrize("rest", [1e-10, 1e-15, 1.2e-16, 1e-17])
def test_the_chance_of_no_shift_is_not_rounded_up(rest):
    """It is the smallest likelihood ratio: the largest loss when the example is added."""
    pair = random_shift([0.0, 20.0], [rest, 1 - rest])
    reached = pair.rate if isinstance(pair, Subsampled) else 1.0
    assert 1 - reached <= rest
    assert 1 - reached >= rest - 2.3e-16
