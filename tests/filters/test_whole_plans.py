"""Permits for whole plans: amplified runs as steps of an adaptive analysis."""

from __future__ import annotations

import pytest

import hockeystick as hs
from hockeystick import filters
from hockeystick.errors import BudgetExceeded, InvalidParameter, UnsupportedPlan

EPOCH = hs.Plan(sampling=hs.BallsInBins(bins=20), steps=20)
DESIGN = filters.MenuDesign(menus=[[(0.02, 1.5, 800)]], exchanges=6, slack=2e-8)
# As designed for steps of (0.05, 2) at epsilon = 2.
SAMPLED = filters.LevyProcess(
    gaussian=0.0001422,
    unit=0.005113304215885762,
    sizes=(5, 7, 16, 19, 29, 36, 45, 55, 68, 84, 104),
    rates=(
        *(0.09547, 0.2676, 0.007086, 0.006582, 0.0007406, 0.0001566, 4.134e-05, 8.546e-06),
        *(1.529e-06, 1.671e-07, 1.384e-08),
    ),
    killing=3.127e-10,
    catalyst=0.0006674,
)


def test_an_epoch_is_one_mechanism() -> None:
    """It takes steps of the menu that dominate it together; one that is too much is refused."""
    f = filters.Residual(epsilon=2.0, delta=1e-5, design=DESIGN)
    permit = f.request(plan=EPOCH, noise_multiplier=3.0)
    assert permit.clip_scale == 1.0
    taken = 800 - f.menus[0][0.02, 1.5]
    assert 0 < taken < 100
    f.request(plan=EPOCH, noise_multiplier=6.0).commit()
    permit.cancel()
    assert 700 < f.menus[0][0.02, 1.5] < 800
    with pytest.raises(BudgetExceeded):
        f.request(plan=EPOCH, noise_multiplier=0.5)


def test_the_charge_is_that_of_the_profile() -> None:
    """A plan of Poisson steps costs a Renyi filter what its steps cost, and needs a noise."""
    f = filters.Renyi(epsilon=2.0, delta=1e-5, order=8)
    plan = hs.Plan(sampling=hs.Poisson(rate=0.01), steps=10)
    whole = f.request(plan=plan, noise_multiplier=1.0).charge
    steps = f.request(rate=0.01, noise_multiplier=1.0, steps=10).charge
    assert whole == pytest.approx(steps, rel=1e-6)
    with pytest.raises(InvalidParameter, match="noise_multiplier"):
        f.request(plan=plan)
    with pytest.raises(InvalidParameter, match="exactly one"):
        f.request(
            plan=plan, noise_multiplier=1.0, profile=hs.Profile.gaussian(noise_multiplier=9.0)
        )
    with pytest.raises(UnsupportedPlan):
        f.request(plan=EPOCH, noise_multiplier=3.0)


@pytest.mark.parametrize(
    "plan", [EPOCH, hs.Plan(sampling=hs.Poisson(rate=0.05), steps=20)], ids=["bins", "poisson"]
)
def test_a_levy_process_dominates_plans_of_its_kind(plan: hs.Plan) -> None:
    """As many runs as are permitted are within the target; a Gaussian process has no such time."""
    f = filters.Levy(epsilon=2.0, delta=1e-5, process=SAMPLED)
    runs = int(f.budget / f.request(plan=plan, noise_multiplier=3.0).charge)
    profile = hs.account(plan, noise_multiplier=3.0).profile
    assert 1.2 < profile.self_compose(runs).epsilon(1e-5) <= 2.0
    with pytest.raises(BudgetExceeded):
        filters.Levy(epsilon=2.0, delta=1e-5).request(plan=plan, noise_multiplier=3.0)
