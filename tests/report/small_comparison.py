"""A comparison of four plans that takes a few seconds, for the tests of the report."""

from __future__ import annotations

from functools import cache

import hockeystick as hs
from hockeystick.accounting.compare import Compared
from hockeystick.report.comparison_report import ComparisonReport, comparison_report

EXAMPLES, BATCH_SIZE, STEPS = 100, 10, 10
EPSILON, DELTA = 2.0, 1e-5


def plans() -> list[hs.Plan]:
    """Exact by `profile` and by `gaussian`, correlated noise, and one that nothing is exact for."""
    two_bands = hs.strategies.bsr(STEPS, 2)
    buffers = hs.strategies.blt(STEPS, 2, separation=10, participations=1)
    apart = hs.MinSep.for_batch_size(BATCH_SIZE, examples=EXAMPLES, separation=2)
    return [
        hs.Plan(sampling=hs.Poisson(rate=0.1), steps=STEPS),
        hs.Plan(sampling=hs.CyclicPoisson(rate=0.2, groups=2), steps=STEPS, strategy=two_bands),
        hs.Plan(sampling=hs.CyclicPoisson(rate=1.0, groups=10), steps=STEPS, strategy=buffers),
        hs.Plan(sampling=apart, steps=STEPS, strategy=two_bands),
    ]


@cache
def compared() -> tuple[Compared, ...]:
    """The plans with their noise, the smallest error first."""
    found = [
        Compared(
            plan,
            hs.calibrate(plan, epsilon=EPSILON, delta=DELTA),
            seconds=0.5,
            baseline=plan.sampling.name == "poisson",
        )
        for plan in plans()
    ]
    return tuple(sorted(found, key=lambda one: one.mean_squared_error))


@cache
def small_report() -> ComparisonReport:
    """Everything that the report shows, estimates included."""
    return comparison_report(compared(), examples=EXAMPLES, batch_size=BATCH_SIZE)
