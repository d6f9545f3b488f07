"""One of several mechanisms of different kinds, against all outcomes and against integrals."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr

from hockeystick import Profile
from hockeystick._numerics.divergence import delta_from_law
from hockeystick._numerics.law import Resolution, Side, reverse
from hockeystick._numerics.moments import moments_of_law
from hockeystick.profile.expressions import Reversed
from hockeystick.profile.expressions.discrete import from_pmfs
from hockeystick.profile.expressions.mechanisms import GaussianPair
from hockeystick.profile.expressions.sampled import Allocated, Averaged, drawn_uniformly
from hypothesis_strategies import brief, pairs
from in_one_test import in_one_test
from references import outcomes as plain
from references.sandwich import assert_between

RESOLUTION = Resolution(0.05, 1e-14, 24.0)
SIDES = (Side.LOWER, Side.UPPER)

FIRST = ([0.5, 0.3, 0.2], [0.2, 0.3, 0.5])
SECOND = ([0.9, 0.1], [0.4, 0.6])
THIRD = ([0.7, 0.2, 0.1], [0.25, 0.25, 0.5])


def enumerated(members):
    """The outcomes of all mechanisms together; P runs in one that is drawn uniformly."""
    total = sum(count for _, count in members)
    parts = [plain.outcomes(*pair) for pair, count in members for _ in range(count)]
    result = []
    for combination in itertools.product(*parts):
        q = plain.exact.fprod(q for _, q in combination)
        p = plain.exact.fsum(
            plain.exact.fprod(a if i == chosen else b for i, (a, b) in enumerate(combination))
            for chosen in range(total)
        )
        result.append((p / total, q))
    return result


def averaged(members):
    """The expression for the same."""
    return Averaged(tuple((from_pmfs(*pair), count) for pair, count in members))


DISCRETE = {
    "one of each": [(FIRST, 1), (SECOND, 1)],
    "two and three": [(FIRST, 2), (SECOND, 3)],
    "three kinds": [(FIRST, 1), (SECOND, 2), (THIRD, 1)],
    "mass apart": [(([0.6, 0.3, 0.1], [0.5, 0.5, 0.0]), 1), (SECOND, 2)],
    "mass at zero": [(([0.6, 0.4, 0.0], [0.5, 0.4, 0.1]), 2), (SECOND, 1)],
}


@in_one_test
@pytest.mark.parametrize("step", [0.3, 0.05])
@pytest.mark.parametrize("case", DISCRETE)
def test_discrete_pairs_against_all_outcomes(case, step):
    """Both sides enclose the enumeration, in both directions, on coarse and fine grids."""
    members = DISCRETE[case]
    laws = [averaged(members).law(side, Resolution(step, 1e-14, 24.0)) for side in SIDES]
    assert_between(enumerated(members), *laws)
    for law in laws:
        assert law.p.sum() + law.p_infinite == pytest.approx(1.0, rel=1e-9)
        assert law.q.sum() + law.q_zero == pytest.approx(1.0, rel=1e-9)


@brief
@given(first=pairs(max_size=3), second=pairs(max_size=3), count=st.integers(1, 3))
def test_any_discrete_pairs(first, second, count):
    """Also those with zeros and with tiny masses."""
    members = [(first, count), (second, 1)]
    laws = [averaged(members).law(side, RESOLUTION) for side in SIDES]
    assert_between(enumerated(members), *laws)


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("case", ["one of each", "two and three", "three kinds"])
def test_moments_of_discrete_pairs(case, backwards):
    """Sums over all outcomes; removing is exact, adding an upper bound from the law."""
    members = DISCRETE[case]
    found = averaged(members).power_moments(6, reverse=backwards, resolution=RESOLUTION)
    truth = plain.reverse(enumerated(members)) if backwards else enumerated(members)
    for m in range(2, 7):
        log = float(plain.exact.log(plain.exact.fsum(q * (p / q) ** m for p, q in truth)))
        assert found.log[m] >= log * (1 - 1e-13)
        assert found.log[m] <= log * (1 + (1e-2 if backwards else 1e-12))
    assert found.apart <= 1e-13


def test_moments_keep_mass_apart():
    """P-mass where Q has none is averaged over the mechanisms."""
    found = averaged(DISCRETE["mass apart"]).power_moments(4, reverse=False, resolution=RESOLUTION)
    assert found.apart == pytest.approx(0.1 / 3, rel=1e-12)


def integral(means, weights, epsilon, *, backwards):
    """Two Gaussian mechanisms: one observation by the trapezoidal rule, one in closed form.

    LR = w_1 L_1 + w_2 L_2 is above e^epsilon where the second observation is above a point t.
    """
    (first, second), (own, other) = means, weights
    z = np.linspace(-13.0, first + 13.0, 40_001)
    known = own * np.exp(first * z - first**2 / 2)
    gamma = math.exp(-epsilon if backwards else epsilon)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = (np.log((gamma - known) / other) + second**2 / 2) / second
    t = np.where(known < gamma, t, -np.inf)
    if backwards:
        gain = ndtr(t) - (known * ndtr(t) + other * ndtr(t - second)) / gamma
    else:
        gain = known * ndtr(-t) + other * ndtr(second - t) - gamma * ndtr(-t)
    density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    return float(np.sum(gain * density) * (z[1] - z[0]))


@pytest.mark.slow
@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("means", [(1.0, math.sqrt(2)), (0.3, 2.0), (0.5, 0.4)])
def test_two_gaussians_against_an_integral(means, backwards):
    """Laws of every resolution around the integral, and a profile that is as close as asked."""
    pair = Averaged(tuple((GaussianPair(mean), 1) for mean in means))
    for epsilon in (0.0, 0.2, 0.6):
        truth = integral(means, (0.5, 0.5), epsilon, backwards=backwards)
        for step in (0.2, 0.05, 0.01):
            laws = [pair.law(side, Resolution(step, 1e-16, 24.0)) for side in SIDES]
            lower, upper = (delta_from_law(reverse(x) if backwards else x, epsilon) for x in laws)
            assert lower <= truth * (1 + 1e-7)
            assert truth <= upper * (1 + 1e-7)
        profile = Profile(pair).reverse() if backwards else Profile(pair)
        lower, upper = profile.delta_bounds(epsilon)
        assert lower * (1 - 1e-7) <= truth <= upper * (1 + 1e-7)
        assert upper <= truth * 1.01


@pytest.mark.parametrize("backwards", [False, True])
def test_many_gaussians_against_simulation(backwards):
    """Three of one kind and four of another, at six standard errors."""
    pair = Averaged(((GaussianPair(1.0), 3), (GaussianPair(1.4), 4)))
    means = np.array([1.0] * 3 + [1.4] * 4)
    z = np.random.default_rng(11).standard_normal((300_000, 7))
    ratio = np.exp(means * z - means**2 / 2).mean(axis=1)
    profile = Profile(pair).reverse() if backwards else Profile(pair)
    for epsilon in (0.0, 0.3):
        gain = 1 - math.exp(epsilon) * ratio if backwards else ratio - math.exp(epsilon)
        gain = np.maximum(gain, 0.0)
        error = 6 * gain.std() / math.sqrt(gain.size)
        lower, upper = profile.delta_bounds(epsilon)
        assert gain.mean() - error <= upper
        assert lower <= gain.mean() + error


@pytest.mark.parametrize("backwards", [False, True])
def test_moments_agree_with_the_law(backwards):
    """The upper law has moments that are not smaller, and hardly larger."""
    pair = Averaged(((GaussianPair(0.8), 2), (GaussianPair(1.1), 3)))
    fine = Resolution(0.01, 1e-30, 24.0)
    found = pair.power_moments(5, reverse=backwards, resolution=fine).log
    upper, lower = (pair.law(side, fine) for side in (Side.UPPER, Side.LOWER))
    above, below = (
        moments_of_law(reverse(law) if backwards else law, 5).log for law in (upper, lower)
    )
    for m in range(2, 6):
        assert below[m] * (1 - 1e-9) <= found[m] <= above[m] * (1 + 1e-9)
        assert above[m] <= below[m] * 1.01


def test_equal_members_are_one_allocation():
    """The average over copies of one mechanism, split in two, is what it was."""
    once = GaussianPair(0.9)
    split, whole = Averaged(((once, 3), (once, 5))), once.allocate(8)
    for m in range(2, 9):
        logs = [
            pair.power_moments(8, reverse=False, resolution=RESOLUTION).log[m]
            for pair in (split, whole)
        ]
        assert logs[0] == pytest.approx(logs[1], rel=1e-11)
    for epsilon in (0.1, 0.4):
        bounds = [Profile(pair).delta_bounds(epsilon) for pair in (split, whole)]
        assert bounds[0][0] <= bounds[1][1] * (1 + 1e-9)
        assert bounds[1][0] <= bounds[0][1] * (1 + 1e-9)


def test_normal_forms():
    """Equal members are counted; pairs that are all exchanged are averaged first."""
    a, b = GaussianPair(1.0), GaussianPair(2.0)
    assert drawn_uniformly([(a, 2), (a, 3)]) == Allocated(a, 5)
    assert drawn_uniformly([(a, 1)]) == a
    assert drawn_uniformly([(a, 2), (b, 1), (a, 1)]) == Averaged(((a, 3), (b, 1)))
    c, d = from_pmfs(*FIRST), from_pmfs(*SECOND)
    exchanged = drawn_uniformly([(Reversed(c), 1), (Reversed(d), 2)])
    assert exchanged == Averaged(((c, 1), (d, 2))).reverse()
    assert Averaged(((a, 3), (b, 1))).levels() >= 1
