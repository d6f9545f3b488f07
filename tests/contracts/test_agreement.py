"""What was calibrated is what is accounted, stated and verified, with default settings."""

from __future__ import annotations

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.training import RunRecord, Statement, check_statement, statement
from references.random_plans import SAMPLINGS, Target, random_target

# How many plans of each scheme are drawn. All but one are left to the long test run: the first, or
# one that is quicker and has correlated noise (that of balls-in-bins is bounded by `gram`).
PLANS, CHOSEN = 25, {"min-sep": 3, "balls-in-bins": 6}
CASES = [
    pytest.param(
        scheme, number, marks=[] if number == CHOSEN.get(scheme, 0) else [pytest.mark.long]
    )
    for scheme in SAMPLINGS
    for number in range(PLANS)
]


def check_agreement(target: Target) -> None:
    """Asked, calibrated, accounted, stated and recomputed agree, without any tolerance."""
    plan, epsilon, delta = target
    found = hs.calibrate(plan, epsilon=epsilon, delta=delta)
    accounted = hs.account(plan, noise_multiplier=found.noise_multiplier).epsilon(delta)
    assert accounted <= epsilon
    assert accounted == found.guarantee.epsilon(delta)
    record = RunRecord(
        plan=plan,
        noise_multiplier=found.noise_multiplier,
        max_grad_norm=1.0,
        taken_steps=plan.steps,
    )
    stated = Statement.from_json(statement(record, delta=delta).to_json())
    assert stated.epsilon == accounted
    verified = check_statement(stated)
    assert verified.problems == ()
    assert verified.epsilon is not None
    assert verified.epsilon <= stated.epsilon


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "number"), CASES)
def test_random_plans_are_stated_as_they_were_calibrated(scheme: str, number: int) -> None:
    """Stated is at most what was asked, and verified at most what is stated: 200 random plans."""
    check_agreement(random_target(scheme, np.random.default_rng(number)))


def test_every_scheme_takes_part() -> None:
    """Of the registered schemes only the one that is refused is left out."""
    assert set(SAMPLINGS) == set(hs.schemes.SCHEMES) - {"shuffle"}


def varying(steps: int) -> hs.strategies.Strategy:
    """A matrix that is not Toeplitz, full below its diagonal."""
    entries = np.random.default_rng(steps).uniform(0.0, 0.3, (steps, steps))
    return hs.strategies.from_matrix(np.eye(steps) + np.tril(entries, -1))


EXTREMES = {
    "tiny delta": Target(hs.Plan(sampling=hs.Poisson(rate=0.01), steps=50), 2.0, 1e-12),
    "tiny epsilon": Target(hs.Plan(sampling=hs.Poisson(rate=0.01), steps=50), 0.01, 1e-12),
    "large epsilon": Target(hs.Plan(sampling=hs.Poisson(rate=0.1), steps=50), 50.0, 1e-12),
    "rate near 1": Target(hs.Plan(sampling=hs.Poisson(rate=1 - 1e-7), steps=30), 1.0, 1e-6),
    "many steps": Target(hs.Plan(sampling=hs.Poisson(rate=1e-3), steps=10**6), 1.0, 1e-6),
    "no noise": Target(hs.Plan(sampling=hs.Poisson(rate=1e-7), steps=1), 1.0, 1e-3),
    "capped": Target(
        hs.Plan(sampling=hs.Poisson(rate=0.1, max_participations=3), steps=40), 1.0, 1e-6
    ),
    "a matrix": Target(hs.Plan(sampling=hs.FullBatch(), steps=20, strategy=varying(20)), 1.0, 1e-8),
    "a matrix in turns": Target(
        hs.Plan(sampling=hs.CyclicPoisson(rate=1.0, groups=5), steps=20, strategy=varying(20)),
        1.0,
        1e-8,
    ),
    "buffers": Target(
        hs.Plan(sampling=hs.Poisson(rate=0.1), steps=4, strategy=hs.strategies.blt(4, buffers=2)),
        50.0,
        1e-12,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("target", EXTREMES.values(), ids=EXTREMES)
def test_extreme_plans_agree_as_well(target: Target) -> None:
    """At the ends of what is asked for, and for strategies that are rebuilt from a matrix."""
    check_agreement(target)


def test_one_direction_agrees() -> None:
    """The direction that was calibrated for is the one that `account` is asked about."""
    plan = hs.Plan(sampling=hs.Poisson(rate=0.1), steps=20)
    found = hs.calibrate(plan, epsilon=1.0, delta=1e-5, direction="add")
    noise = found.noise_multiplier
    accounted = hs.account(plan, noise_multiplier=noise, direction="add").epsilon(1e-5)
    assert accounted == found.guarantee.epsilon(1e-5) <= 1.0


@pytest.mark.slow
def test_other_settings_agree_with_themselves() -> None:
    """With another accuracy and budget, `account` with the same ones gives the same number."""
    plan = hs.Plan(sampling=hs.BallsInBins(bins=2), steps=4, strategy=hs.strategies.bsr(4, bands=2))
    settings = {"accuracy": 0.01, "budget": 1e5}
    found = hs.calibrate(plan, epsilon=1.0, delta=1e-5, **settings)
    again = hs.account(plan, noise_multiplier=found.noise_multiplier, **settings)
    assert again.epsilon(1e-5) == found.guarantee.epsilon(1e-5) <= 1.0


@pytest.mark.slow
def test_verified_claims_are_stated_as_they_were_asked() -> None:
    """A noise that was verified by draws is stated with the guarantee of the calibration."""
    plan = hs.Plan(sampling=hs.BallsInBins(bins=4), steps=8, strategy=hs.strategies.bsr(8, bands=2))
    method = hs.MonteCarlo(draws=20_000, seed=1)
    found = hs.calibrate(plan, epsilon=1.1, delta=1e-2, method=method)
    record = RunRecord(
        plan=plan, noise_multiplier=found.noise_multiplier, max_grad_norm=1.0, taken_steps=8
    )
    stated = statement(record, delta=1e-2, guarantee=found.guarantee)
    assert stated.epsilon <= 1.1
    assert "(ε = 1.1, δ = 0.01)" in stated.paragraph()


def test_an_analysis_that_misses_its_accuracy_is_recomputed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its bound may still be the best one of several, and the statement holds."""
    monkeypatch.setattr("hockeystick.profile.resolution.MOST_ATOMS", 100)
    plan = hs.Plan(sampling=hs.Poisson(rate=0.01), steps=100)
    record = RunRecord(plan=plan, noise_multiplier=1.0, max_grad_norm=1.0, taken_steps=100)
    stated = statement(record, delta=1e-5)
    assert stated.method == "profile"
    with pytest.raises(hs.errors.PrecisionError):
        hs.account(plan, noise_multiplier=1.0, method="profile").epsilon(1e-5)
    verified = check_statement(Statement.from_json(stated.to_json()))
    assert verified.problems == ()
    assert verified.epsilon == stated.epsilon
