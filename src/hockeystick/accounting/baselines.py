"""What runs are compared with: numbers that are not guarantees of the plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hockeystick.accounting.shuffling import ShufflingBound
from hockeystick.bounds.bound import Bound
from hockeystick.bounds.profiles import ProfileBound
from hockeystick.plan import Plan
from hockeystick.schemes import Allocation, Missing
from hockeystick.schemes.pairs import step_of

__all__ = ["BASELINES", "Baseline"]


@dataclass(frozen=True)
class Baseline:
    """What a plan is compared with.

    Attributes
    ----------
    name
        By which it is known.
    summary
        What the number is, and what it is not.
    objection
        `objection(plan)` is None if there is a number for the plan, otherwise a clause that says
        why not.
    bound
        `bound(plan, noise_multiplier)` gives the numbers. The noise multiplier is None exactly if
        the plan brings its own mechanism.

    Examples
    --------
    >>> import hockeystick as hs
    >>> plan = hs.Plan(sampling=hs.BallsInBins(bins=10), steps=10)
    >>> poisson = hs.baselines.BASELINES["poisson"]
    >>> poisson.objection(plan) is None
    True
    """

    name: str
    summary: str
    objection: Callable[[Plan], str | None]
    bound: Callable[[Plan, float | None], Bound]


def _correlated_noise(plan: Plan) -> str | None:
    """The objection of baselines that compose independent steps."""
    if plan.adjacency != "add-remove":
        return "it is for adjacency=add-remove"
    return "it is for independent noise" if plan.correlated else None


def _poisson(plan: Plan, noise_multiplier: float | None) -> ProfileBound:
    """The expected batch of a single example is the average rate of participation."""
    rate = min(plan.sampling.expected_batch_size(1), 1.0)
    step = step_of(plan, noise_multiplier)(1.0)
    return ProfileBound(step.subsample(rate).self_compose(plan.steps))


def _no_amplification(plan: Plan, noise_multiplier: float | None) -> ProfileBound:
    """As many participations as the scheme allows, each composed in full."""
    step = step_of(plan, noise_multiplier)(1.0)
    return ProfileBound(step.self_compose(plan.sampling.most_participations(plan.steps)))


def _one_pick_of_one_block(plan: Plan) -> str | None:
    """The objection of shuffling, whose reports are the steps of one block."""
    draws = plan.sampling.parallel_allocations(plan)
    if plan.adjacency != "add-remove":
        return "it is for adjacency=add-remove"
    if isinstance(draws, Missing):
        return "it is for random allocation with independent noise"
    if plan.steps == 1 or draws != [Allocation(plan.steps, plan.steps, 1)]:
        return "it is for one pick out of one block of several steps"
    return None


def _shuffling(plan: Plan, noise_multiplier: float | None) -> ShufflingBound:
    """As many reports as steps."""
    return ShufflingBound(step_of(plan, noise_multiplier)(1.0), plan.steps)


BASELINES: dict[str, Baseline] = {
    one.name: one
    for one in (
        Baseline(
            name="poisson",
            summary="Poisson batches of the same expected size: another run, no bound on this one",
            objection=_correlated_noise,
            bound=_poisson,
        ),
        Baseline(
            name="no-amplification",
            summary="the steps of each example known to all: what sampling gains is the difference",
            objection=_correlated_noise,
            bound=_no_amplification,
        ),
        Baseline(
            name="shuffling",
            summary="the clones bound for shuffled reports, applied to the step's (epsilon, delta)",
            objection=_one_pick_of_one_block,
            bound=_shuffling,
        ),
    )
}
"""Every baseline by its name, in the order in which they are shown."""
