"""`poisson-reduction`: the plan as Poisson sampling, of which the whole law is known.

Random allocation takes a raised rate, and the chance that the rate is too low is added to delta
(allocation.py). Schemes in which nobody takes part without being sampled in the step, such as
b-min-sep sampling of examples and of users, need no raised rate (independent_sampling.py).
"""

from __future__ import annotations

from hockeystick.analyses.method import Method, Request
from hockeystick.analyses.poisson_reduction.allocation import ReductionBound
from hockeystick.analyses.poisson_reduction.independent_sampling import (
    independent_bound,
    missing_draws,
)
from hockeystick.guarantee import Analysis
from hockeystick.plan import Plan
from hockeystick.schemes import Missing
from hockeystick.schemes.pairs import step_of

__all__ = ["METHOD"]


def _condition(plan: Plan) -> str | None:
    allocations = plan.sampling.parallel_allocations(plan)
    return missing_draws(plan) if isinstance(allocations, Missing) else None


def _analyse(request: Request) -> Analysis:
    """For allocation about ten times the cost of Poisson sampling, otherwise once its cost."""
    plan, noise_multiplier = request.plan, request.noise_multiplier
    draws = plan.sampling.parallel_allocations(plan)
    if isinstance(draws, Missing):
        return Analysis(METHOD.name, METHOD.kind, independent_bound(plan, noise_multiplier))
    step = step_of(plan, noise_multiplier)(1.0)
    return Analysis(METHOD.name, METHOD.kind, ReductionBound(step, draws))


METHOD = Method(
    name="poisson-reduction",
    kind="proven",
    summary="Poisson sampling at a raised rate, plus the chance that the rate is too low",
    analyse=_analyse,
    needs=("parallel_allocations", "independent_sampling"),
    condition=_condition,
    second_to=("profile",),
)
