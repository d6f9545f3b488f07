from __future__ import annotations

import math

import pytest

from hockeystick import filters
from hockeystick.errors import InvalidParameter

# rate, noise, mu of the budget, steps; epsilon at delta = 1e-5 as claimed, and in truth.
SETTINGS = [
    (0.01, 1.0, 0.3, 524, 1.13, 1.35),
    (0.01, 0.8, 0.3, 239, 1.13, 1.89),
    (0.05, 1.0, 1.0, 233, 4.38, 5.12),
]


def test_kind_is_visible() -> None:
    """Wherever a person or a program looks."""
    f = filters.ApproximateGaussian(mu=0.3)
    assert f.kind == "asymptotic"
    assert "asymptotic" in repr(f)
    g = f.guarantee()
    assert g.kind == "asymptotic"
    assert g.answer(delta=1e-5).kind == "asymptotic"
    assert "proven" in str(g.answer(delta=1e-5).details["note"])
    assert "asymptotic" in str(f.audit())
    assert "diagnostic" in str(f.audit())


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS)
def test_audit_shows_the_gap(setting: tuple[float, float, float, int, float, float]) -> None:
    """The realised schedule costs more than is claimed, as errata.md says."""
    rate, noise, mu, steps, claimed, truth = setting
    f = filters.ApproximateGaussian(mu=mu)
    f.request(rate=rate, noise_multiplier=noise, steps=steps - 1)
    f.request(rate=rate, noise_multiplier=noise)
    assert f.spent == f.budget
    audit = f.audit()
    found = audit.epsilon(1e-5)
    assert abs(found.claimed - claimed) <= 0.005
    assert abs(found.realised - truth) <= 0.0062
    assert audit.exceeds_claim(1e-5)


def test_charges_of_both_regimes() -> None:
    """The formulas of Algorithm 2."""
    small = filters.ApproximateGaussian(mu=1.0)
    charge = small.request(rate=0.1, noise_multiplier=2.0, sensitivity=1.5).charge
    assert math.isclose(charge, 0.01 * math.expm1(0.75**2) / 2, rel_tol=1e-12)
    large = filters.ApproximateGaussian(mu=1.0, regime="large")
    charge = large.request(rate=0.9, noise_multiplier=2.0, sensitivity=1.5).charge
    assert math.isclose(charge, 0.81 * 0.75**2 / 2, rel_tol=1e-12)


def test_last_clip_inverts_the_charge_at_the_steps_own_rate() -> None:
    """Not at the bound on all rates, as the paper prints; and the last charge is no full one."""
    for regime, rates in (("small", (0.15, 0.03)), ("large", (0.85, 1.0))):
        f = filters.ApproximateGaussian(mu=0.4, regime=regime)  # type: ignore[arg-type]
        f.request(rate=rates[0], noise_multiplier=3.0)
        left = f.remaining
        permit = f.request(rate=rates[1], noise_multiplier=0.3)
        mu = permit.clip_scale / 0.3
        square = math.expm1(mu**2) if regime == "small" else mu**2
        assert left * (1 - 1e-11) <= rates[1] ** 2 * square / 2 <= left
        assert f.spent == f.budget


@pytest.mark.parametrize(("regime", "rate"), [("small", 0.2), ("small", 1.0), ("large", 0.8)])
def test_rates_outside_the_regime(regime: str, rate: float) -> None:
    """The approximation says nothing there."""
    f = filters.ApproximateGaussian(mu=1.0, regime=regime)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="rate"):
        f.request(rate=rate, noise_multiplier=1.0)
    assert f.history == ()


def test_unknown_regime() -> None:
    """There are two."""
    with pytest.raises(InvalidParameter, match="regime"):
        filters.ApproximateGaussian(mu=1.0, regime="middle")  # type: ignore[arg-type]
