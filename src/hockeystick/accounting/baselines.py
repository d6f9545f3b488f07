"""What runs are compared with: numbers that are not guarantees of the plan.

**Clones**, a bound for shuffled reports [FeldmanMcMillanTalwar23]. Let a and b be the output
densities of a report with either of two inputs, within a factor e^e0 of each other, and r that of
another report, within e^e0 of both. With u = (a - b)+ / (e^e0 - 1) and v = (b - a)+ / (e^e0 - 1),

    a = e^e0 u + v + w,   b = u + e^e0 v + w,   r >= u + v,

for a common density w, so every other report is like u or like v with chance p each, where p is the
mass of u. An observer of the shuffled reports is no stronger than one who counts symbols u and v:
C ~ Bin(n - 1, 2p) others, half of them u on average, and the one report on top. Randomized response
has no w and p = 1/(e^e0 + 1), and every pair within e^e0 is a post-processing of it; so this p
covers all.

The example's report among t - 1 reports that hold nothing, in random order, is 1-out-of-t random
allocation. The clones bound uses the mechanism only through a pure e0: where the loss is not
bounded, the likelihood ratio is cut off at e^e0, which moves the report with the example by at most
d0 = H(e^e0) in total variation, and that costs e^epsilon d0 in delta. The best e0 is searched.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from hockeystick._numerics.divergence import guard
from hockeystick._numerics.gaussian import binomial_above, binomial_masses, binomial_up_to
from hockeystick._numerics.law import Side
from hockeystick._numerics.search import bracket, minimize_on_interval
from hockeystick.bounds import Bound, UpperBound
from hockeystick.bounds.profiles import ProfileBound
from hockeystick.plan import Plan
from hockeystick.profile import Profile
from hockeystick.profile.resolution import BOTH, Direction
from hockeystick.schemes import Allocation, Missing
from hockeystick.schemes.pairs import step_of

__all__ = [
    "BASELINES",
    "Baseline",
    "ShufflingBound",
    "clones_delta",
]

# Numbers of clones this many standard deviations away are counted in full, which takes next to
# nothing: e^-98.
DEVIATIONS = 14.0
# The logarithms of the share of delta that cutting off may take, and the smallest delta it is.
SHARES = (-12.0, -0.1)
SMALLEST_DELTA = 1e-30
# Reports with a larger e0 hide nobody, and e^e0 would leave floating point.
LARGEST_LOCAL = 500.0


class ShufflingBound(Bound):
    """The clones bound for one block of reports."""

    def __init__(self, step: Profile, reports: int) -> None:
        self._step = step
        self._reports = reports

    def epsilon(
        self, delta: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """The best cut-off; at most the epsilon of the report itself."""
        alone = self._step.epsilon_bounds(delta, directions=BOTH, accuracy=accuracy).upper

        def epsilon(log_share: float) -> float:
            cut = delta * math.exp(log_share)
            local = self._step.epsilon_bounds(cut, directions=BOTH, accuracy=accuracy).upper
            return bracket(
                lambda e: self._delta(e, local, cut) <= delta, 0.0, alone, tolerance=1e-6
            )[1]

        share = minimize_on_interval(epsilon, *SHARES, tolerance=0.05)
        return UpperBound(min(alone, epsilon(share)))

    def delta(
        self, epsilon: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """The best cut-off for this epsilon."""
        alone = self._step.delta_bounds(epsilon, directions=BOTH, accuracy=accuracy).upper

        def log_delta(log_cut: float) -> float:
            cut = math.exp(log_cut)
            local = self._step.epsilon_bounds(cut, directions=BOTH, accuracy=accuracy).upper
            return math.log(max(self._delta(epsilon, local, cut), SMALLEST_DELTA))

        low, high = math.log(SMALLEST_DELTA), math.log(max(alone, 1e-20))
        best = minimize_on_interval(log_delta, low, high, tolerance=0.05)
        return UpperBound(min(alone, math.exp(log_delta(best))))

    def as_profile(self) -> Profile:
        """The report itself, which dominates."""
        return self._step

    def _delta(self, epsilon: float, local: float, cut: float) -> float:
        if local > LARGEST_LOCAL:
            return 1.0
        hidden = clones_delta(self._reports, local, epsilon)
        return guard(hidden + math.exp(min(epsilon, 700.0)) * cut, Side.UPPER)


def clones_delta(reports: int, local_epsilon: float, epsilon: float) -> float:
    """H at e^epsilon of shuffled reports that are local_epsilon-DP; the pair is symmetric.

    Of m = C + 1 symbols x are u; the likelihood ratio (e^e0 x + m - x) / (x + e^e0 (m - x)) rises
    with x, so delta is a difference of two binomial tails for each C. O(sqrt(reports)) of them
    count.
    """
    if epsilon >= local_epsilon:
        return 0.0
    share = 2 / (math.exp(local_epsilon) + 1)
    mean = (reports - 1) * share
    reach = DEVIATIONS * math.sqrt(mean * (1 - share)) + DEVIATIONS**2
    low, high = max(0, math.floor(mean - reach)), min(reports - 1, math.ceil(mean + reach))
    clones = np.arange(low, high + 1)
    masses = binomial_masses(clones, reports - 1, share)
    true, gamma = 1 / (1 + math.exp(-local_epsilon)), math.exp(epsilon)
    ratio = (gamma - math.exp(-local_epsilon)) / (-math.expm1(-local_epsilon) * (gamma + 1))
    first = np.floor((clones + 1) * ratio) + 1
    one_less, as_many = binomial_above(first - 2, clones), binomial_above(first - 1, clones)
    p = true * one_less + (1 - true) * as_many
    q = (1 - true) * one_less + true * as_many
    missed = binomial_above(high, reports - 1, share)
    if low > 0:
        missed += binomial_up_to(low - 1, reports - 1, share)
    return float(masses @ np.maximum(p - gamma * q, 0.0) + missed)


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
    if plan.sampling.displaces:
        return "it is for batches without a cap"
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
