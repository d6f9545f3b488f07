"""`gaussian`: participation known, closed form."""

from __future__ import annotations

from hockeystick.analyses.method import Method, Request
from hockeystick.bounds.profiles import ProfileBound
from hockeystick.guarantee import Analysis
from hockeystick.plan import ADJACENCIES, Plan
from hockeystick.schemes.pairs import gaussian_step

__all__ = ["METHOD"]


def _condition(plan: Plan) -> str | None:
    return None if plan.mechanism is None else "it needs the Gaussian mechanism"


def _analyse(request: Request) -> Analysis:
    """One Gaussian mechanism with the strategy's sensitivity; no amplification.

    Revealing in which steps the example takes part dominates the plan by joint convexity, and the
    worst pattern that the scheme allows is at most the strategy's sensitivity for its smallest gap
    and largest number of participations: sqrt(participations) for independent noise. A user has up
    to `most_copies` examples in a batch, whose gradients at worst all point the same way: as many
    times that. A gradient that replaces another one is at most two clip norms away from it: twice
    that, since who takes part when does not depend on what is in an example. The same where an
    example displaces another one (a cap on batches). Exact if the participations are fixed and are
    that pattern.
    """
    assert request.noise_multiplier is not None
    scheme = request.plan.sampling
    sensitivity = request.plan.strategy.sensitivity(
        separation=scheme.least_gap, participations=scheme.most_participations(request.plan.steps)
    )
    replaced = scheme.displaces or request.plan.adjacency != "add-remove"
    gradients = 2 if replaced else 1
    largest = gradients * sensitivity * scheme.most_copies
    profile = gaussian_step(request.noise_multiplier, largest)
    steps = range(sensitivity.pattern[0], sensitivity.pattern[-1] + 1, scheme.least_gap)
    regular = sensitivity.pattern in (steps, tuple(steps[:1]))
    tight = scheme.attains(sensitivity.pattern) and sensitivity.exact and regular
    return Analysis(METHOD.name, METHOD.kind, ProfileBound(profile, exact=tight))


METHOD = Method(
    name="gaussian",
    kind="proven",
    summary="participation known: the closed-form Gaussian mechanism, no amplification",
    analyse=_analyse,
    condition=_condition,
    relations=ADJACENCIES,
)
