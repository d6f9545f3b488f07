"""The limit of many sampled steps: labelled, close where it should be, and never taken by auto."""

from __future__ import annotations

import math

import pytest

import hockeystick as hs


def plan_of(rate, steps):
    """Poisson sampling with independent noise."""
    return hs.Plan(sampling=hs.Poisson(rate=rate), steps=steps)


def limit_of(plan, noise):
    """The answer of the limit."""
    return hs.account(plan, noise_multiplier=noise, method="asymptotic-gdp")


@pytest.mark.parametrize(
    ("rate", "noise", "steps", "limit", "truth"),
    [(0.01, 1.0, 524, 1.13, 1.35), (0.01, 0.8, 239, 1.13, 1.89), (0.05, 1.0, 233, 4.38, 5.12)],
)
def test_reports_too_little(rate, noise, steps, limit, truth):
    """The settings of the errata, with the digits printed there."""
    plan = plan_of(rate, steps)
    assert limit_of(plan, noise).epsilon(1e-5) == pytest.approx(limit, rel=5e-3)
    assert hs.account(plan, noise_multiplier=noise).epsilon(1e-5) == pytest.approx(truth, rel=5e-3)


def test_close_at_high_noise():
    """Many steps with much noise: within one per cent of the truth."""
    plan = plan_of(0.01, 40_000)
    truth = hs.account(plan, noise_multiplier=4.0).epsilon(1e-5)
    assert limit_of(plan, 4.0).epsilon(1e-5) == pytest.approx(truth, rel=0.01)


def test_says_what_it_is():
    """The kind and a warning come with every answer."""
    guarantee = limit_of(plan_of(0.01, 1_000), 1.0)
    assert guarantee.kind == "asymptotic"
    assert "no guarantee" in guarantee.answer(delta=1e-5).details["warning"]


def test_auto_never_takes_it():
    """Although its number is the smallest."""
    plan = plan_of(0.01, 524)
    assert hs.methods(plan)["asymptotic-gdp"] == "asymptotic"
    assert hs.account(plan, noise_multiplier=1.0).method == "profile"


@pytest.mark.parametrize(
    "plan",
    [
        hs.Plan(sampling=hs.Poisson(rate=0.1, max_participations=3), steps=10),
        hs.Plan(sampling=hs.Poisson(rate=0.1), steps=10, strategy=hs.strategies.bsr(10, 2)),
        hs.Plan(sampling=hs.FullBatch(), steps=10),
        hs.Plan(sampling=hs.Poisson(rate=0.1), steps=2, mechanism=hs.Profile.laplace(scale=1.0)),
    ],
    ids=["capped", "correlated", "full batch", "other mechanism"],
)
def test_is_for_poisson_sampling_alone(plan):
    """Other plans have another limit, or none."""
    assert "asymptotic-gdp" not in hs.methods(plan)


def test_very_low_noise_says_nothing():
    """No number instead of one beyond floating point."""
    with pytest.raises(hs.errors.PrecisionError, match="too small for the limit") as caught:
        limit_of(plan_of(0.5, 10), 0.02)
    assert caught.value.upper == math.inf
