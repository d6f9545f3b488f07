"""Bounds from a single (epsilon, delta): an accepted claim, and an upper confidence bound."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from hockeystick.bounds import Bound, UpperBound
from hockeystick.bounds.profiles import ProfileBound
from hockeystick.errors import InvalidParameter
from hockeystick.montecarlo import MonteCarlo
from hockeystick.montecarlo.concentration import upper_edge
from hockeystick.montecarlo.drawing import Drawer, open_drawer
from hockeystick.montecarlo.draws import ROUNDING, Job, Payoff
from hockeystick.montecarlo.trials import tightest_run
from hockeystick.montecarlo.verifier import Claim
from hockeystick.plan import Plan
from hockeystick.profile import Profile
from hockeystick.profile.resolution import BOTH, Direction
from hockeystick.schemes.simulation import simulation_remark

__all__ = ["ClaimedPoint", "ConfidencePoint", "confidence_bound"]

# Some seconds for thousands of steps.
DEFAULT_DRAWS = 100_000


@dataclass(frozen=True)
class ClaimedPoint(Bound):
    """What every (epsilon, delta)-DP mechanism guarantees at other epsilons and deltas.

    `details` stand beside every number.
    """

    claimed_epsilon: float
    claimed_delta: float
    directions: tuple[Direction, ...]
    details: Mapping[str, object] = field(default_factory=dict)

    def epsilon(
        self, delta: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """That of the dominating pair; at most the claimed one from its delta on."""
        found = self._pair.epsilon(delta, directions=directions, accuracy=accuracy)
        known = delta >= self.claimed_delta
        return replace(found, value=min(found.value, self.claimed_epsilon)) if known else found

    def delta(
        self, epsilon: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """That of the dominating pair; at most the claimed one from its epsilon on."""
        found = self._pair.delta(epsilon, directions=directions, accuracy=accuracy)
        known = epsilon >= self.claimed_epsilon
        return replace(found, value=min(found.value, self.claimed_delta)) if known else found

    def as_profile(self) -> Profile:
        """The pair that dominates, if both directions are claimed."""
        return _profile(self.claimed_epsilon, self.claimed_delta, self.directions)

    @property
    def _pair(self) -> ProfileBound:
        pair = Profile.from_epsilon_delta(self.claimed_epsilon, self.claimed_delta)
        return ProfileBound(pair, details=self.details)


@dataclass(frozen=True)
class ConfidencePoint(Bound):
    """delta(drawn_epsilon) <= bounded_delta, except with `failure_probability`.

    delta falls with epsilon, so the bound holds at larger epsilons as well. It says nothing about
    smaller ones.
    """

    drawn_epsilon: float
    bounded_delta: float
    failure_probability: float
    estimate: float
    draws: int
    directions: tuple[Direction, ...]
    remark: str | None = None
    tuples: Mapping[str, object] = field(default_factory=dict)

    def epsilon(
        self, delta: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """The epsilon of the draws, for deltas that are not below the bound."""
        if not delta >= self.bounded_delta:
            allowed = f">= {self.bounded_delta:.6g}, the bound that was found"
            raise InvalidParameter("delta", allowed, delta)
        return UpperBound(self.drawn_epsilon, details=self._details)

    def delta(
        self, epsilon: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """The bound, at the epsilon of the draws and beyond."""
        if not epsilon >= self.drawn_epsilon:
            allowed = f">= {self.drawn_epsilon:g}, where the draws were made"
            raise InvalidParameter("epsilon", allowed, epsilon)
        return UpperBound(self.bounded_delta, details=self._details)

    def as_profile(self) -> Profile:
        """The pair of every (epsilon, delta)-DP mechanism."""
        return _profile(self.drawn_epsilon, self.bounded_delta, self.directions)

    @property
    def _details(self) -> dict[str, object]:
        found: dict[str, object] = {
            "failure_probability": self.failure_probability,
            "draws": self.draws,
            "estimated_delta": self.estimate,
            **self.tuples,
        }
        return found if self.remark is None else {**found, "note": self.remark}


def _profile(epsilon: float, delta: float, directions: tuple[Direction, ...]) -> Profile:
    """The pair of every (epsilon, delta)-DP mechanism; one direction alone has none."""
    if set(directions) != set(BOTH):
        allowed = "'both' for a profile or a composition"
        raise InvalidParameter("direction", allowed, ", ".join(directions))
    return Profile.from_epsilon_delta(epsilon, delta)


def confidence_bound(
    plan: Plan, noise: float, directions: tuple[Direction, ...], settings: MonteCarlo
) -> ConfidencePoint:
    """An upper confidence bound on delta at the epsilon of the settings, which has no default."""
    if settings.epsilon is None:
        raise InvalidParameter("epsilon", "given for the method monte-carlo", None)
    epsilon, draws = settings.epsilon, settings.draws or DEFAULT_DRAWS
    failure = settings.failure_probability
    # The claimed delta plays no part in a bound.
    claim = Claim(plan, epsilon, 0.5, directions)
    question = (noise, epsilon, draws, failure, directions)
    with open_drawer(
        plan, execution=settings.execution, seed=settings.seed, confidence=question
    ) as drawer:
        return _confidence_point(drawer, claim, noise=noise, draws=draws, failure=failure)


def _confidence_point(
    drawer: Drawer, claim: Claim, *, noise: float, draws: int, failure: float
) -> ConfidencePoint:
    """The largest bound over the numbers of a user's examples, in the direction that decides.

    Each run has `draws` draws of its own and an equal share of the failure probability. Draws come
    from the proposal with the smallest proven payoff, in units of which Chernoff's bound is taken.
    """
    runs = claim.runs(noise)
    worst = estimate = 0.0
    tuples: dict[str, object] = {}
    for number, run in enumerate(runs):
        proposed, largest = tightest_run(run, claim.epsilon)
        job = Job(proposed, (Payoff(claim.epsilon),), draws, drawer.seed, (number,))
        sums = drawer.sums(job, text=f"Run {number + 1} of {len(runs)}")
        mean = float(sums.means[0, 0])
        exponent = math.log(len(runs) / failure) / draws
        edge = largest * upper_edge(min(mean * (1 + ROUNDING) / largest, 1.0), exponent)
        # NaN must not look like a small number.
        if not edge <= worst:
            worst = edge
            order = None if proposed.replicas is None else proposed.replicas.order
            tuples = {} if order is None else {"order": order, "largest_payoff": largest}
        estimate = max(estimate, mean)
    remark = simulation_remark(claim.plan)
    drawn = draws * len(runs)
    return ConfidencePoint(
        claim.epsilon, min(worst, 1.0), failure, estimate, drawn, claim.directions, remark, tuples
    )
