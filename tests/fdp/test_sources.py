"""Trade-off functions from profiles, masses, densities and samples."""

from __future__ import annotations

import numpy as np
import pytest

from hockeystick import Profile
from hockeystick.errors import InvalidParameter
from hockeystick.fdp import FirstStage, estimate, from_densities, from_pmfs, from_profile, gdp
from in_one_test import in_one_test

ALPHA = np.linspace(0.0, 1.0, 401)
SAMPLED = Profile.gaussian(noise_multiplier=1.0).subsample(0.3)


def normal(x: np.ndarray) -> np.ndarray:
    """The standard normal density."""
    return np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)


def exact_sampled(alpha: np.ndarray) -> np.ndarray:
    """T[Q, P] of the sampled Gaussian: (1 - q)(1 - alpha) + q G_mu(alpha)."""
    return 0.7 * (1 - alpha) + 0.3 * np.asarray(gdp(1.0)(alpha))


@pytest.mark.parametrize("side", ["upper", "lower"])
def test_a_profile_gives_the_side_that_it_is_on(side: str) -> None:
    """An upper profile gives a function nowhere above the truth, a lower one nowhere below."""
    profile = Profile(SAMPLED.expression, bound=side)  # type: ignore[arg-type]
    f = from_profile(profile, accuracy=1e-4)
    gap = exact_sampled(ALPHA) - f(ALPHA)
    assert f.bound == ("lower" if side == "upper" else "upper")
    assert np.all(gap * (1 if side == "upper" else -1) >= -1e-10)
    assert np.max(np.abs(gap)) < 1e-4
    assert f.to_profile().bound == side


def test_a_polygon_survives_the_way_to_a_profile_and_back() -> None:
    """Atoms are copied, and the profile's delta is the curve's height."""
    f = from_pmfs([0.6, 0.3, 0.1], [0.2, 0.3, 0.5])
    profile = f.to_profile()
    assert profile.delta(0.5) == pytest.approx(f.curve()(np.exp(0.5)), rel=1e-7)
    assert from_profile(profile)(ALPHA) == pytest.approx(f(ALPHA), abs=1e-12)


def test_densities_on_a_grid_approach_the_gaussian() -> None:
    """Callables and arrays, never below the truth by more than quadrature, and an estimate."""
    edges = np.linspace(-9.0, 10.0, 381)
    middle = (edges[1:] + edges[:-1]) / 2
    f = from_densities(lambda x: normal(x - 1), normal, edges=edges)
    gap = f(ALPHA) - np.asarray(gdp(1.0)(ALPHA))
    assert np.all(gap >= -1e-12)
    assert np.max(gap) < 2e-4
    assert f.bound == "estimate"
    listed = from_densities(normal(middle - 1), normal(middle), edges=edges)
    assert np.max(np.abs(listed(ALPHA) - f(ALPHA))) < 1e-3


def test_estimates_bracket_the_truth_and_cover_it_as_often_as_they_say() -> None:
    """In 100 repetitions the band misses the Gaussian curve at most 5 times; and it is a band."""
    rng = np.random.default_rng(11)
    truth = np.asarray(gdp(1.0)(ALPHA))
    misses = 0
    for _ in range(100):
        found = estimate(rng.normal(1, 1, 600), rng.normal(0, 1, 400), confidence=0.95)
        low, middle, high = (c(ALPHA) for c in (found.lower, found.estimate, found.upper))
        assert np.all(low <= middle + 1e-12)
        assert np.all(middle <= high + 1e-12)
        misses += bool(np.any(low > truth + 1e-12) or np.any(high < truth - 1e-12))
    assert misses <= 5
    assert np.max(np.abs(middle - truth)) < 0.12


def test_estimates_never_become_profiles() -> None:
    """None of the three curves can be turned into a claim."""
    found = estimate([0.1, 0.5, 2.0], [0.0, 0.2, -1.0])
    for curve in (found.lower, found.estimate, found.upper):
        with pytest.raises(InvalidParameter, match="bound"):
            curve.to_profile()


def test_samples_without_overlap_are_told_apart() -> None:
    """The estimate is 0 everywhere; the upper confidence bound is not."""
    found = estimate(np.arange(10.0, 20.0), np.arange(10.0))
    assert np.all(found.estimate(ALPHA) == 0.0)
    assert found.upper(0.0) == 1.0


@in_one_test
@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: estimate([], [1.0]), "p_scores"),
        (lambda: estimate([1.0], [np.nan]), "q_scores"),
        (lambda: estimate([1.0], [1.0], confidence=1.0), "confidence"),
        (lambda: from_densities(normal, normal, edges=[1.0, 0.0]), "edges"),
        (lambda: from_densities([1.0], normal, edges=[0.0, 1.0, 2.0]), "p"),
        (lambda: from_densities(lambda x: -normal(x), normal, edges=[0.0, 1.0]), "p"),
        (lambda: from_pmfs([0.5, 0.5], [1.0]), "q"),
        (lambda: from_profile(SAMPLED, accuracy=np.nan), "accuracy"),
        (lambda: FirstStage.discrete([0.5, 0.4], [0.5, 0.5]), "p"),
    ],
)
def test_bad_input_is_named(make: object, name: str) -> None:
    """Every public way in says which parameter is wrong."""
    with pytest.raises(InvalidParameter, match=rf"^{name} "):
        make()  # type: ignore[operator]
