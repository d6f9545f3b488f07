"""The Blackwell order between profiles."""

from __future__ import annotations

import pytest
from hypothesis import assume, given

from hockeystick import Profile
from hypothesis_strategies import narrow_pairs, pairs, quick
from in_one_test import in_one_test
from references import outcomes as plain
from references.sandwich import corners

GAUSSIAN = Profile.gaussian(noise_multiplier=1.0)
MECHANISMS = {
    "gaussian": GAUSSIAN,
    "sampled": GAUSSIAN.subsample(0.1),
    "laplace": Profile.laplace(scale=2.0),
    "response": Profile.randomized_response(epsilon=0.5, buckets=3),
    "epsilon-delta": Profile.from_epsilon_delta(0.2, 1e-3),
    "composed": GAUSSIAN.subsample(0.1).self_compose(5),
    "allocated": GAUSSIAN.allocate(5),
    "reversed": GAUSSIAN.subsample(0.1).self_compose(5).reverse(),
}


@in_one_test
@pytest.mark.parametrize("name", MECHANISMS)
def test_reflexive(name):
    """Every profile dominates itself."""
    assert MECHANISMS[name].dominates(MECHANISMS[name])


def test_gaussians_are_ordered_by_noise():
    """Less noise dominates more, also by a hair, and not the other way."""
    for noise, more in ((0.5, 0.6), (1.0, 1.0 + 1e-9), (3.0, 300.0)):
        small, large = (Profile.gaussian(noise_multiplier=s) for s in (noise, more))
        assert small.dominates(large)
        assert not large.dominates(small)


@in_one_test
@pytest.mark.parametrize("rate", [0.9, 0.3, 0.01, 1e-4])
@pytest.mark.parametrize("noise", [0.5, 1.0, 4.0])
def test_sampling_is_dominated(noise, rate):
    """The mechanism dominates its sampled version, and not conversely."""
    full = Profile.gaussian(noise_multiplier=noise)
    assert full.dominates(full.subsample(rate))
    assert not full.subsample(rate).dominates(full)
    assert full.reverse().dominates(full.subsample(rate).reverse())


def test_composition_dominates_its_parts():
    """Two runs dominate one, one does not dominate two."""
    response, laplace = MECHANISMS["response"], Profile.laplace(scale=0.5)
    for profile in (response, laplace):
        assert profile.self_compose(2).dominates(profile)
    assert not response.dominates(response.self_compose(2))


def test_known_orders():
    """Laplace is (1/scale, 0)-DP; randomized response is the worst such mechanism."""
    laplace = Profile.laplace(scale=2.0)
    assert Profile.randomized_response(epsilon=0.5).dominates(laplace)
    assert not laplace.dominates(Profile.randomized_response(epsilon=0.5))
    assert Profile.from_epsilon_delta(0.5, 1e-6).dominates(laplace)
    assert not Profile.from_epsilon_delta(0.49, 1e-6).dominates(laplace)
    assert not GAUSSIAN.dominates(Profile.from_epsilon_delta(0.0, 1e-9))


def test_neither_may_dominate():
    """Profiles that cross are not ordered."""
    wide, heavy = Profile.randomized_response(epsilon=0.3), Profile.from_epsilon_delta(0.01, 0.1)
    assert not wide.dominates(heavy)
    assert not heavy.dominates(wide)


def test_maximum_dominates_both_members():
    """And a member that is larger everywhere dominates the maximum."""
    first, second = Profile.randomized_response(epsilon=0.3), Profile.laplace(scale=5.0)
    assert first.maximum(second).dominates(first)
    assert first.maximum(second).dominates(second)


def dominated(a, b):
    """Brute force over all corners, in both directions: smallest relative gap."""
    gaps = []
    for x, y in ((a, b), (plain.reverse(a), plain.reverse(b))):
        for epsilon in sorted({*corners(x, 40), *corners(y, 40)}):
            mine, theirs = plain.hockey_stick(x, epsilon), plain.hockey_stick(y, epsilon)
            gaps.append(float((mine - theirs) / max(theirs, plain.number(1e-250))))
    return min(gaps)


@quick
@given(first=pairs(max_size=3), second=pairs(max_size=3))
def test_against_brute_force(first, second):
    """True where all corners agree, false where one objects."""
    gap = dominated(plain.outcomes(*first), plain.outcomes(*second))
    # Within rounding of each other either answer is right.
    assume(abs(gap) > 1e-9)
    assert Profile.from_pmfs(*first).dominates(Profile.from_pmfs(*second)) == (gap > 0)


@quick
@given(
    first=narrow_pairs(max_size=3), second=narrow_pairs(max_size=3), third=narrow_pairs(max_size=3)
)
def test_transitive(first, second, third):
    """a over b and b over c gives a over c, on random pairs and on garbled versions of them."""
    a = Profile.from_pmfs(*first)
    b = Profile.from_pmfs(*_garbled(first, 0.3))
    c = Profile.from_pmfs(*_garbled(first, 0.6))
    assert a.dominates(b) or not b.dominates(c) or a.dominates(c)
    chain = [a, Profile.from_pmfs(*second), Profile.from_pmfs(*third)]
    for x in chain:
        for y in chain:
            for z in chain:
                assert not (x.dominates(y) and y.dominates(z)) or x.dominates(z, slack=1e-12)


def _garbled(pair, share):
    """With probability `share` a uniform outcome instead of the true one."""
    size = len(pair[0])
    return tuple([(1 - share) * x + share / size for x in vector] for vector in pair)


@quick
@given(pair=narrow_pairs(max_size=4))
def test_garbling_is_dominated(pair):
    """Post-processing only loses information."""
    spread = max(abs(p - q) / q for p, q in zip(*pair, strict=True))
    assume(spread > 1e-7)
    original, garbled = Profile.from_pmfs(*pair), Profile.from_pmfs(*_garbled(pair, 0.25))
    assert original.dominates(garbled)
    assert not garbled.dominates(original)
