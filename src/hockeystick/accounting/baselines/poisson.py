"""Poisson sampling with the same expected batches: another run, not a bound on this one."""

from __future__ import annotations

from hockeystick.accounting.baselines.baseline import Baseline, correlated_noise
from hockeystick.bounds.profiles import ProfileBound
from hockeystick.plan import Plan
from hockeystick.schemes.pairs import step_of

__all__ = ["BASELINE"]


def _bound(plan: Plan, noise_multiplier: float | None) -> ProfileBound:
    """The expected batch of a single example is the average rate of participation."""
    rate = min(plan.sampling.expected_batch_size(1), 1.0)
    step = step_of(plan, noise_multiplier)(1.0)
    return ProfileBound(step.subsample(rate).self_compose(plan.steps))


BASELINE = Baseline(
    name="poisson",
    summary="Poisson batches of the same expected size: a different run, no bound on this one",
    objection=correlated_noise,
    bound=_bound,
)
