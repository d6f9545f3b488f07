"""The numerical showcase of the f-DP filter paper: its schedule, its Renyi filter, its audit."""

from __future__ import annotations

import math

import pytest

from fdp_filter_showcase import best_renyi_epsilon, showcase_schedule
from hockeystick import filters
from hockeystick.errors import BudgetExceeded

RENYI = {1e-4: 1.1387, 1e-5: 1.3307, 1e-6: 1.5013, 1e-8: 1.8008}
PROFILE = {1e-4: 1.01847, 1e-5: 1.21566, 1e-6: 1.39044, 1e-8: 1.69548}


def test_schedule_and_budget() -> None:
    """3650 steps in 25 blocks: B = 0.049377, mu = 0.314252."""
    schedule = showcase_schedule()
    assert len(schedule) == 25
    assert sum(one.steps for one in schedule) == 3650
    budget = math.fsum(n * q**2 * math.expm1(s**-2) / 2 for q, s, n in schedule)
    assert abs(budget - 0.049377) <= 5e-7
    assert abs(math.sqrt(2 * budget) - 0.314252) <= 5e-7


@pytest.mark.parametrize("delta", RENYI)
def test_renyi_epsilon(delta: float) -> None:
    """Within 0.1 %, and a filter with that order and epsilon permits just this schedule."""
    schedule = showcase_schedule()
    epsilon, order = best_renyi_epsilon(schedule, delta=delta)
    assert epsilon == pytest.approx(RENYI[delta], rel=1e-3)
    f = filters.Renyi(epsilon=epsilon * (1 + 1e-9), delta=delta, order=order)
    for rate, noise, steps in schedule:
        f.request(rate=rate, noise_multiplier=noise, steps=steps, clip=False)
    with pytest.raises(BudgetExceeded):
        f.request(rate=0.01, noise_multiplier=1.5, clip=False)


@pytest.mark.slow
def test_audit_of_the_approximate_filter() -> None:
    """Profile epsilon in the remove direction within 0.1 %, above what the filter claims."""
    f = filters.ApproximateGaussian(mu=0.314252)
    for rate, noise, steps in showcase_schedule():
        f.request(rate=rate, noise_multiplier=noise, steps=steps)
    audit = f.audit(direction="remove")
    for delta, epsilon in PROFILE.items():
        assert audit.epsilon(delta).realised == pytest.approx(epsilon, rel=1e-3)
        assert audit.exceeds_claim(delta)
    assert audit.epsilon(1e-5).claimed == pytest.approx(1.191, abs=5e-4)
    assert audit.epsilon(1e-8).claimed == pytest.approx(1.648, abs=5e-4)
