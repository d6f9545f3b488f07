from __future__ import annotations

import pytest

import hockeystick as hs
from hockeystick import filters
from hockeystick.errors import InvalidParameter

BOTH = ("remove", "add")


def test_equal_steps_are_counted_together() -> None:
    """Grouped by rate and effective noise, clip scales included, cancelled ones left out."""
    f = filters.Gaussian(mu=1.0)
    f.request(noise_multiplier=4.0, steps=3)
    f.request(noise_multiplier=8.0, sensitivity=2.0)
    f.request(noise_multiplier=3.0).cancel()
    last = f.request(rate=0.5, noise_multiplier=0.1)
    schedule = f.audit().schedule
    assert schedule[0] == (1.0, 4.0, 4)
    assert schedule[1] == (0.5, 0.1 / last.clip_scale, 1)
    assert len(schedule) == 2


def test_realised_profile_is_the_composition() -> None:
    """As if the schedule had been fixed; profiles that were requested are included."""
    f = filters.Renyi(epsilon=4.0, delta=1e-3, order=4)
    laplace = hs.Profile.laplace(scale=2.0)
    f.request(rate=0.1, noise_multiplier=2.0, steps=5)
    f.request(profile=laplace, steps=2)
    whole = (
        hs.Profile.gaussian(noise_multiplier=2.0)
        .subsample(0.1)
        .self_compose(5)
        .compose(laplace.self_compose(2))
    )
    audit = f.audit()
    assert audit.epsilon(1e-3).realised == whole.epsilon_bounds(1e-3, directions=BOTH).upper
    assert audit.unaccounted == 0
    assert not audit.exceeds_claim(1e-3)


def test_nothing_ran() -> None:
    """An empty history costs nothing."""
    audit = filters.Gaussian(mu=1.0).audit()
    assert audit.realised is None
    assert audit.epsilon(1e-5).realised == 0.0


def test_profiles_of_another_process(tmp_path) -> None:
    """A profile cannot be read back: the audit says that it is missing."""
    path = tmp_path / "ledger.db"
    make = {"epsilon": 4.0, "delta": 1e-3, "order": 4, "ledger": path}
    filters.Renyi(**make).request(profile=hs.Profile.laplace(scale=2.0))
    audit = filters.Renyi(**make).audit()
    assert audit.unaccounted == 1
    assert "1 requests" in str(audit)


@pytest.mark.slow
def test_many_settings_are_rounded_together() -> None:
    """A thousand different steps count as fewer, slightly more expensive ones."""
    f = filters.Renyi(epsilon=4.0, delta=1e-5, order=8)
    for number in range(1000):
        f.request(rate=0.01, noise_multiplier=2.0 + number / 1e5)
    audit = f.audit()
    assert len(audit.schedule) == 1000
    low, high = (
        hs.Profile.gaussian(noise_multiplier=noise)
        .subsample(0.01)
        .self_compose(1000)
        .epsilon_bounds(1e-5, directions=BOTH)
        for noise in (2.01, 1.99)
    )
    assert low.lower <= audit.epsilon(1e-5).realised <= high.upper


def test_unknown_direction() -> None:
    """One of three."""
    with pytest.raises(InvalidParameter, match="direction"):
        filters.Gaussian(mu=1.0).audit(direction="sideways")
