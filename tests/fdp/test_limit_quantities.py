from __future__ import annotations

import math

import pytest

from hockeystick.errors import InvalidParameter
from hockeystick.fdp import EqualSteps, limit_quantities
from hockeystick.fdp.moments import loss_moments


def test_sums_of_a_schedule() -> None:
    """Deviations of the exact sums from m1 = m2 = B and v = 2 B, and the worst third moment."""
    schedule = [EqualSteps(0.01, 1.0, 300), EqualSteps(0.02, 2.0, 100)]
    found = limit_quantities(schedule)
    b = 300 * 1e-4 * math.expm1(1.0) / 2 + 100 * 4e-4 * math.expm1(0.25) / 2
    assert found.m1 == found.m2 == pytest.approx(b, rel=1e-12)
    assert found.v == pytest.approx(2 * b, rel=1e-12)
    assert found.mu == pytest.approx(math.sqrt(2 * b), rel=1e-12)
    one, two = (loss_moments(rate=r, noise_multiplier=s) for r, s, _ in schedule)
    assert found.eta1 == pytest.approx(abs(300 * one.p.mean + 100 * two.p.mean - b), rel=1e-9)
    assert found.eta2 == pytest.approx(abs(300 * one.q.mean + 100 * two.q.mean + b), rel=1e-9)
    variances = (
        300 * one.p.variance + 100 * two.p.variance,
        300 * one.q.variance + 100 * two.q.variance,
    )
    assert found.kappa == pytest.approx(max(abs(v - 2 * b) for v in variances), rel=1e-9)
    assert found.rho == max(
        side.third / side.variance for step in (one, two) for side in (step.p, step.q)
    )
    assert found.phi == pytest.approx((found.eta1 + found.eta2) / math.sqrt(2 * b), rel=1e-12)


def test_more_noise_is_more_gaussian() -> None:
    """At the same budget the error shrinks with smaller steps; few large ones are not close."""
    distances = []
    for noise in (0.6, 1.0, 2.0, 4.0):
        steps = math.ceil(0.1 / (1e-4 * math.expm1(noise**-2)))
        distances.append(limit_quantities([EqualSteps(0.01, noise, steps)]))
    assert [q.distance for q in distances] == sorted((q.distance for q in distances), reverse=True)
    assert [q.applies for q in distances] == [False, True, True, True]


def test_full_batches_are_exactly_gaussian() -> None:
    """Means and variances are those of the limit, whatever the noise."""
    found = limit_quantities([EqualSteps(1.0, 3.0, 10)], regime="large")
    assert found.mu == pytest.approx(math.sqrt(10) / 3, rel=1e-12)
    assert found.phi < 1e-9
    assert found.kappa < 1e-9 * found.v


def test_given_budget() -> None:
    """Deviations are from the budget that is given."""
    found = limit_quantities([EqualSteps(1.0, 3.0, 9)], regime="large", budget=1.0)
    assert (found.m1, found.v) == (1.0, 2.0)
    assert found.eta1 == pytest.approx(0.5, rel=1e-9)
    assert found.kappa == pytest.approx(1.0, rel=1e-9)


def test_wrong_schedules() -> None:
    """An empty one, and one without steps."""
    for wrong in ([], [EqualSteps(0.1, 1.0, 0)], [EqualSteps(0.0, 1.0, 1)]):
        with pytest.raises(InvalidParameter):
            limit_quantities(wrong)
