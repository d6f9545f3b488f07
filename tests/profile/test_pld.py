"""Exchange with dp-accounting."""

from __future__ import annotations

import sys

import pytest
from dp_accounting.pld import privacy_loss_distribution as distribution

import hockeystick as hs
from hypothesis_strategies import thinned

RUN = hs.Profile.gaussian(noise_multiplier=1.0).subsample(0.02).self_compose(300)


@pytest.mark.slow
@pytest.mark.parametrize("interval", thinned([1e-2, 1e-3], normal=1))
def test_export_is_pessimistic_and_close(interval):
    """The exported distribution lies above our lower bound, and converges to our value."""
    pld = RUN.to_pld(interval=interval)
    for epsilon in (0.3, 1.0, 2.0):
        lower = max(RUN.delta_bounds(epsilon).lower, RUN.reverse().delta_bounds(epsilon).lower)
        exported = pld.get_delta_for_epsilon(epsilon)
        assert exported >= lower
        assert exported == pytest.approx(lower, rel=2e-2)


@pytest.mark.slow
def test_round_trip():
    """Export and import keep both directions."""
    back = hs.Profile.from_pld(RUN.to_pld(interval=1e-3))
    for epsilon in (0.5, 1.5):
        assert back.delta(epsilon) == pytest.approx(RUN.delta(epsilon), rel=1e-2)
        assert back.reverse().delta(epsilon) == pytest.approx(
            RUN.reverse().delta(epsilon), rel=1e-2
        )


@pytest.mark.slow
def test_import_composes():
    """An imported single step composes to what dp-accounting itself composes it to."""
    step = distribution.from_gaussian_mechanism(1.0, sampling_prob=0.02)
    ours = hs.Profile.from_pld(step).self_compose(300)
    theirs = step.self_compose(300).get_epsilon_for_delta(1e-6)
    assert ours.epsilon(1e-6) == pytest.approx(theirs, rel=2e-3)


def test_infinity_mass_survives():
    """P-mass outside the support of Q is kept both ways."""
    profile = hs.Profile.from_epsilon_delta(1.0, 1e-4)
    pld = profile.to_pld()
    assert pld.get_delta_for_epsilon(50.0) == pytest.approx(1e-4, rel=1e-9)
    assert hs.Profile.from_pld(pld).delta(50.0) == pytest.approx(1e-4, rel=1e-9)


def test_optimistic_distributions_are_refused():
    """An optimistic estimate is not an upper bound."""
    pmf = RUN.to_pld()._pmf_remove
    pmf._pessimistic_estimate = False
    with pytest.raises(hs.errors.InvalidParameter, match="pessimistic"):
        hs.Profile.from_pld(distribution.PrivacyLossDistribution(pmf))


def test_bad_interval():
    """The interval is positive and not absurdly small."""
    for bad in (0.0, -1.0, float("nan"), 1e-12):
        with pytest.raises(hs.errors.InvalidParameter, match="interval"):
            RUN.to_pld(interval=bad)


def test_missing_extra(monkeypatch):
    """Without dp-accounting the error names the extra."""
    monkeypatch.setitem(sys.modules, "dp_accounting.pld", None)
    with pytest.raises(hs.errors.MissingExtra, match=r"hockeystick\[pld\]"):
        RUN.to_pld()
