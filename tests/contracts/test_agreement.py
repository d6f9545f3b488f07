"""What was calibrated is what is accounted, stated and verified, with default settings."""

from __future__ import annotations

import numpy as np
import pytest
from references.random_plans import SAMPLINGS, Target, random_target

import hockeystick as hs
from hockeystick.training import RunRecord, Statement, check_statement, statement

# How many plans of each scheme are drawn; all but one of them in the long test run.
PLANS = 25
CASES = [
    pytest.param(scheme, number, marks=[pytest.mark.long] if number else [])
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
