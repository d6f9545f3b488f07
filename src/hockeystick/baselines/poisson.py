"""Poisson sampling with the same expected batches: another run, not a bound on this one."""

from __future__ import annotations

from hockeystick.baselines.baseline import Baseline, one_participation
from hockeystick.plan import Plan
from hockeystick.profile import Profile

__all__ = ["BASELINE"]


def _objection(plan: Plan) -> str | None:
    return "it is for independent noise" if plan.correlated else None


def _price(plan: Plan, noise_multiplier: float | None) -> Profile:
    """The expected batch of a single example is the average rate of participation."""
    rate = min(plan.sampling.expected_batch_size(1), 1.0)
    return one_participation(plan, noise_multiplier).subsample(rate).self_compose(plan.steps)


BASELINE = Baseline(
    name="poisson",
    summary="Poisson batches of the same expected size: a different run, no bound on this one",
    objection=_objection,
    price=_price,
)
