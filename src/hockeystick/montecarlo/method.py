"""`monte-carlo`: draws of whole runs, as a method of `account`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hockeystick import _validate as check
from hockeystick.analyses.method import MONTE_CARLO
from hockeystick.errors import InvalidParameter
from hockeystick.guarantee import Analysis, Kind
from hockeystick.montecarlo.confidence import confidence_point
from hockeystick.montecarlo.execution import Execution
from hockeystick.montecarlo.session import open_drawer
from hockeystick.montecarlo.verifier import Claim
from hockeystick.plan import Plan
from hockeystick.profile.refinement import Direction

__all__ = ["DEFAULT_DRAWS", "Sampled", "analyse"]

DEFAULT_DRAWS, DEFAULT_FAILURE = 100_000, 1e-3


@dataclass(frozen=True, kw_only=True)
class Sampled:
    """What `monte-carlo` is asked beside the plan and its noise."""

    epsilon: float
    draws: int
    failure_probability: float
    seed: int | None
    execution: Execution | None

    @classmethod
    def checked(
        cls,
        *,
        epsilon: Any,
        draws: Any,
        failure_probability: Any,
        seed: int | None,
        execution: Execution | None,
    ) -> Sampled:
        """With defaults filled in; epsilon has none."""
        if epsilon is None:
            raise InvalidParameter("epsilon", "given for the method monte-carlo", None)
        given = DEFAULT_FAILURE if failure_probability is None else failure_probability
        return cls(
            epsilon=check.at_least("epsilon", epsilon, 0.0),
            draws=check.positive_integer("draws", DEFAULT_DRAWS if draws is None else draws),
            failure_probability=check.small_probability("failure_probability", given),
            seed=seed,
            execution=execution,
        )


def analyse(
    plan: Plan, noise: float, asked: Sampled, directions: tuple[Direction, ...]
) -> Analysis:
    """An upper confidence bound on delta at one epsilon."""
    kind: Kind = "conjectured" if plan.sampling.conjectured else "confidence"
    # The claimed delta plays no part in a bound.
    claim = Claim(plan, asked.epsilon, 0.5, directions)
    question = (noise, asked.epsilon, asked.draws, asked.failure_probability, directions)
    with open_drawer(
        plan, execution=asked.execution, seed=asked.seed, confidence=question
    ) as drawer:
        point = confidence_point(
            drawer, claim, noise=noise, draws=asked.draws, failure=asked.failure_probability
        )
    return Analysis(MONTE_CARLO, kind, point)
