from __future__ import annotations

import math

import pytest

import hockeystick as hs
from hockeystick import filters
from hockeystick.errors import InvalidParameter


def test_squares_add_up() -> None:
    """(sensitivity / noise)^2 for each step."""
    f = filters.Gaussian(mu=2.0)
    f.request(noise_multiplier=2.0)
    f.request(noise_multiplier=1.0, sensitivity=0.25, steps=4)
    assert math.isclose(f.spent, 0.25 + 4 / 16, rel_tol=1e-12)
    assert f.spent >= 0.5


def test_sampling_is_not_used() -> None:
    """A smaller rate is charged like rate 1."""
    f = filters.Gaussian(mu=2.0)
    full = f.request(noise_multiplier=2.0).charge
    assert f.request(rate=0.01, noise_multiplier=2.0).charge == full


def test_last_scale() -> None:
    """The square of the clipped step is what is left."""
    f = filters.Gaussian(mu=1.0)
    f.request(noise_multiplier=2.0)
    permit = f.request(noise_multiplier=0.5)
    assert math.isclose(permit.clip_scale, 0.5 * math.sqrt(0.75), rel_tol=1e-12)


def test_guarantee_is_the_gaussian_profile() -> None:
    """mu-GDP, proven."""
    g = filters.Gaussian(mu=0.7).guarantee()
    assert g.kind == "proven"
    assert g.epsilon(1e-5) == hs.Profile.gaussian(noise_multiplier=1 / 0.7).epsilon(1e-5)


def test_profiles_are_refused() -> None:
    """It charges Gaussians only."""
    with pytest.raises(InvalidParameter, match="profile"):
        filters.Gaussian(mu=1.0).request(profile=hs.Profile.laplace(scale=1.0))
