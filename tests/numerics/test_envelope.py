"""Maximum, convex minimum and domination against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hockeystick._numerics.envelope import deltas, dominates, maximum, minimum
from hockeystick._numerics.law import Law, Resolution, Side, subsample
from hockeystick.profile.expressions.composed import compose
from hockeystick.profile.expressions.discrete import randomized_response
from hockeystick.profile.expressions.mechanisms import GaussianPair, Laplace
from hypothesis_strategies import law_of, narrow_pairs, pairs, quick
from in_one_test import in_one_test
from references import kernels as slow
from references import outcomes as plain
from references.laws import measure, p_mass, q_mass
from references.outcomes import exact, hockey_stick, number
from references.sandwich import LOSS_ROUNDING, RATIO_ROUNDING, SMALLEST, corners

# The envelopes may move a profile by no more than a tenth of the allowance for floating point.
TIGHT = 1e-9


def points_of(a, b):
    """Epsilons at all corners of both profiles, between them, and beyond."""
    return sorted({*corners(measure(a), 30), *corners(measure(b), 30)})


@quick
@given(pair=pairs(), epsilon=st.floats(-40, 40))
def test_deltas_are_of_the_small_side(pair, epsilon):
    """H(P || Q) above 0 and H(Q || P) below, both with relative accuracy."""
    law = law_of(pair)
    exact_pair = measure(law) if epsilon >= 0 else plain.reverse(measure(law))
    got = deltas(law, np.array([epsilon]))[0]
    assert got == pytest.approx(
        float(hockey_stick(exact_pair, abs(epsilon))), rel=1e-10, abs=1e-290
    )


def assert_pointwise(result, a, b, choose, shift=RATIO_ROUNDING):
    """The profile of the result is the chosen one of the two, in both directions."""
    for forward in (True, False):
        r, x, y = (
            measure(law) if forward else plain.reverse(measure(law)) for law in (result, a, b)
        )
        for corner in points_of(a, b):
            epsilon = corner if forward else -corner
            move = LOSS_ROUNDING * abs(epsilon) + shift
            low, want, high = (
                choose(hockey_stick(x, at), hockey_stick(y, at))
                for at in (epsilon + move, epsilon, epsilon - move)
            )
            got = hockey_stick(r, epsilon)
            assert low * (1 - TIGHT) - SMALLEST <= got <= high * (1 + TIGHT) + SMALLEST, (
                f"{got} instead of {want} at {epsilon}, {forward=}"
            )


@quick
@given(first=pairs(), second=pairs())
def test_maximum_is_the_larger_profile(first, second):
    """Equal to the larger one at every epsilon, in both directions."""
    a, b = law_of(first), law_of(second)
    assert_pointwise(maximum(a, b), a, b, max)


@quick
@given(first=pairs(), second=pairs())
def test_minimum_is_the_convex_envelope(first, second):
    """Equal to the lowest chord over all corners of both profiles."""
    a, b = law_of(first), law_of(second)
    result = measure(minimum(a, b))
    points = points_of(a, b)
    gammas = [exact.exp(number(epsilon)) for epsilon in points]
    x = [exact.mpf(0), *gammas, max(gammas) * exact.mpf(10) ** 60]
    lowest = [min(_call(measure(law), gamma) for law in (a, b)) for gamma in x]
    envelope = slow.convex_minorant(x, lowest)
    for gamma, want in zip(x[1:-1], envelope[1:-1], strict=True):
        assert float(_call(result, gamma)) == pytest.approx(float(want), rel=TIGHT, abs=1e-12)


def test_minimum_of_losses_near_nothing():
    """A pair with losses of 1e-7 keeps its own masses, although deltas are known to 1e-9 only."""
    wide = law_of(([0.2689414213699951, 0.7310585786300049], [0.5, 0.5]))
    narrow = law_of(
        ([0.8888887901234185, 0.11111120987658162], [0.8888888888888888, 0.1111111111111111])
    )
    result = minimum(wide, narrow)
    assert float(p_mass(result)) == pytest.approx(1.0, rel=1e-15)
    assert float(q_mass(result)) == pytest.approx(1.0, rel=1e-15)


def _call(pair, gamma):
    return exact.fsum(max(p - gamma * q, 0) for p, q in pair)


@quick
@given(pair=narrow_pairs(), noise=st.lists(st.integers(-4, 4), min_size=5, max_size=5))
@pytest.mark.parametrize("envelope", [maximum, minimum])
def test_corners_that_differ_by_rounding(pair, noise, envelope):
    """Two laws that are equal up to floating point have that law as envelope, and no mass twice."""
    law = law_of(pair)
    assume(np.abs(law.loss).max() > 1e-7)
    factors = 1 + np.array(noise[: law.loss.size] + [0] * (law.loss.size - len(noise))) * 2.0**-52
    other = law._replace(loss=np.maximum.accumulate(law.loss * factors))
    result = envelope(law, other)
    assert_pointwise(result, law, law, max)
    assert float(p_mass(result)) == pytest.approx(float(p_mass(law)), rel=1e-9)
    assert float(q_mass(result)) == pytest.approx(float(q_mass(law)), rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("envelope", [maximum, minimum])
@pytest.mark.parametrize("expression", [GaussianPair(0.7), Laplace(1.3), Laplace(83.0)])
@pytest.mark.parametrize("side", list(Side))
def test_symmetric_laws_are_their_own_envelopes(envelope, expression, side):
    """A symmetric pair and its mirror image differ by rounding only."""
    from hockeystick._numerics.law import reverse

    law = expression.law(side, Resolution(0.05, 1e-15, 10.0))
    result = envelope(law, reverse(law))
    for epsilon in np.linspace(0, law.loss[-1] * 0.9, 20):
        want = float(hockey_stick(measure(law), epsilon))
        assert float(hockey_stick(measure(result), epsilon)) == pytest.approx(want, rel=TIGHT)
    assert result.p.sum() + result.p_infinite == pytest.approx(1.0, rel=1e-12)
    assert result.q.sum() + result.q_zero == pytest.approx(1.0, rel=1e-12)


@quick
@given(first=pairs(max_size=4), second=pairs(max_size=4))
def test_domination_against_all_corners(first, second):
    """True exactly where no corner of either profile shows the opposite."""
    a, b = law_of(first), law_of(second)
    gaps = []
    for forward in (True, False):
        x, y = (measure(law) if forward else plain.reverse(measure(law)) for law in (a, b))
        for epsilon in points_of(a, b):
            mine, theirs = hockey_stick(x, epsilon), hockey_stick(y, epsilon)
            gap = float((mine - theirs) / max(theirs, exact.mpf(10) ** -280))
            # Profiles that touch within rounding may be judged either way. Below 0 all masses
            # count, and their sum is off by some 1e-16.
            unsure = 1e-9 + (1e-15 / float(theirs) if epsilon < 0 < theirs else 0.0)
            assume(not -unsure < gap < -2e-15)
            gaps.append(gap)
    assert dominates(a, b, 1e-200) == (min(gaps) >= -2e-15)


def test_domination_looks_at_the_ends():
    """P at infinity and Q at zero must be dominated too."""
    base = Law(np.array([-1.0, 1.0]), np.array([0.2, 0.6]), np.array([0.6, 0.2]), 0.2, 0.2)
    more = base._replace(p_infinite=0.2 + 1e-9)
    other = base._replace(q_zero=0.2 + 1e-9)
    assert dominates(base, base, 0.0)
    assert not dominates(base, more, 0.0)
    assert not dominates(base, other, 0.0)
    assert dominates(base, more, 1e-8)


@in_one_test
@pytest.mark.parametrize(
    ("noise", "rate", "epsilon", "count", "step"),
    [
        (9.07, 0.0018, 0.001, 35, 0.02),
        (3.88, 0.0012, 0.146, 7, 0.02),
        (0.45, 0.0154, 0.007, 31, 0.2),
        (0.58, 0.4573, 0.191, 21, 0.02),
        (0.41, 0.6893, 0.303, 38, 0.03),
    ],
)
@pytest.mark.parametrize("side", list(Side))
@pytest.mark.parametrize("envelope", [maximum, minimum])
def test_envelopes_of_grids_and_lattices(noise, rate, epsilon, *, count, step, side, envelope):
    """Laws with losses next to 0 and next to each other: no mass appears, none is lost."""
    resolution = Resolution(step, 1e-15, 12.0)
    sampled = subsample(GaussianPair(1 / noise).law(side, resolution), rate)
    response = compose([(randomized_response(epsilon, 3), count)]).law(side, resolution)
    result = envelope(sampled, response)
    assert result.p.sum() + result.p_infinite == pytest.approx(1.0, rel=1e-9)
    assert result.q.sum() + result.q_zero == pytest.approx(1.0, rel=1e-9)


def test_envelope_of_disjoint_supports_is_well_formed():
    """The maximum with a pair without common outcomes has no mass between, but is still a law."""
    disjoint = law_of(([1.0, 0.0], [0.0, 1.0]))
    result = maximum(disjoint, Laplace(1.0).law(Side.UPPER, Resolution(0.1, 1e-10, 10.0)))
    assert (result.p_infinite, result.q_zero) == (1.0, 1.0)
    assert result.loss.size >= 1
