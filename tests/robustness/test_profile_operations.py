"""Long chains of operations on profiles: bounds stay bounds, errors stay errors."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hockeystick as hs
from hockeystick.errors import PrecisionError
from hockeystick.profile.refinement import Bounds
from hypothesis_strategies import examples, pairs
from robustness.outcomes import outcome, refused
from robustness.values import counts, deltas, epsilons, magnitudes, noises, rates

pytestmark = pytest.mark.slow

ROUGH = 0.5


def mechanisms() -> st.SearchStrategy[hs.Profile]:
    """The constructors, at any strength."""
    return st.one_of(
        noises().map(lambda noise: hs.Profile.gaussian(noise_multiplier=noise)),
        magnitudes(1e-2, 1e3).map(lambda scale: hs.Profile.laplace(scale=scale)),
        magnitudes(1e-3, 1e2).map(lambda e: hs.Profile.randomized_response(epsilon=e)),
        st.tuples(magnitudes(1e-3, 1e2), deltas()).map(
            lambda pair: hs.Profile.from_epsilon_delta(*pair)
        ),
        pairs().map(lambda pair: hs.Profile.from_pmfs(*pair)),
    )


@st.composite
def profiles(draw: st.DrawFn) -> hs.Profile:
    """A mechanism after up to three operations."""
    profile = draw(mechanisms())
    operations = {
        "subsample": lambda p: p.subsample(draw(rates())),
        "self_compose": lambda p: p.self_compose(draw(counts(1e4))),
        "allocate": lambda p: p.allocate(draw(counts(100))),
        "reverse": lambda p: p.reverse(),
        "compose": lambda p: p.compose(draw(mechanisms())),
        "maximum": lambda p: p.maximum(draw(mechanisms())),
        "minimum": lambda p: p.minimum(draw(mechanisms())),
        "symmetrize": lambda p: p.symmetrize(),
    }
    for name in draw(st.lists(st.sampled_from(sorted(operations)), max_size=2)):
        profile = operations[name](profile)
    return profile


def bounds(ask: object) -> Bounds | None:
    """What is proved, whether or not the accuracy was reached; None for other refusals."""
    found = outcome(ask)
    if isinstance(found, PrecisionError):
        found = Bounds(found.lower, found.upper)
    return None if refused(found) else found


@examples(60)
@given(profiles(), deltas(), epsilons())
def test_numbers_are_bounds(profile: hs.Profile, delta: float, epsilon: float) -> None:
    """Neither NaN nor crossed; delta is a probability."""
    found = bounds(lambda: profile.epsilon_bounds(delta, accuracy=ROUGH))
    if found is not None:
        assert 0 <= found.lower <= found.upper
    found = bounds(lambda: profile.delta_bounds(epsilon, accuracy=ROUGH))
    if found is not None:
        assert 0 <= found.lower <= found.upper <= 1


@examples(24)
@given(profiles(), st.lists(st.floats(0.0, 1.0), min_size=1, max_size=4))
def test_tradeoffs_are_curves(profile: hs.Profile, alpha: list[float]) -> None:
    """A smallest error between 0 and 1 - alpha, falling with alpha."""
    found = outcome(lambda: profile.tradeoff(np.sort(alpha), accuracy=ROUGH))
    if not refused(found):
        assert np.all((found >= 0) & (found <= 1 - np.sort(alpha) + 1e-9))
        assert np.all(np.diff(found) <= 1e-9)


@examples(40)
@given(mechanisms(), st.floats(1.01, 200.0))
def test_renyi_divergences(profile: hs.Profile, order: float) -> None:
    """A number that is not negative, or infinite."""
    found = outcome(lambda: profile.renyi(order))
    assert refused(found) or found >= 0


@examples(60)
@given(noises(), counts(1e6), deltas(), epsilons())
def test_composed_gaussians(noise: float, count: int, delta: float, epsilon: float) -> None:
    """n-fold is one Gaussian with noise / sqrt(n); one step is never more than n."""
    one = hs.Profile.gaussian(noise_multiplier=noise)
    many = one.self_compose(count)
    upper = outcome(lambda: many.epsilon(delta))
    assert math.isfinite(upper)
    assert outcome(lambda: one.epsilon_bounds(delta)).lower <= upper
    same = hs.Profile.gaussian(noise_multiplier=noise / math.sqrt(count))
    assert upper == pytest.approx(same.epsilon(delta), rel=1e-6, abs=1e-300)
    assert outcome(lambda: one.delta_bounds(epsilon)).lower <= many.delta(epsilon) * (1 + 1e-9)
