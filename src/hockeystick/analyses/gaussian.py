"""Closed forms of one Gaussian mechanism: `gaussian`, `asymptotic-gdp`.

`gaussian`: participation known, no amplification.

`asymptotic-gdp`: the privacy loss of many sampled Gaussian steps tends to that of a Gaussian
mechanism with mu^2 = steps rate^2 (e^(1/sigma^2) - 1) ([Bu20]; [Tran26, Theorem 4.1]). The
limit has no proven error at a finite number of steps and usually reports too little (docs/errata),
hence the kind "asymptotic", which "auto" never takes.
"""

from __future__ import annotations

import math

from hockeystick.analyses.method import Method, Request
from hockeystick.bounds.profiles import ProfileBound
from hockeystick.errors import PrecisionError
from hockeystick.guarantee import Analysis
from hockeystick.plan import ADJACENCIES, Plan
from hockeystick.profile import Profile
from hockeystick.profile.expressions.mechanisms import GaussianPair
from hockeystick.schemes import Missing
from hockeystick.schemes.capabilities import offered
from hockeystick.schemes.pairs import gaussian_step

__all__ = ["KNOWN", "LIMIT"]


def _known_condition(plan: Plan) -> str | None:
    return None if plan.mechanism is None else "it needs the Gaussian mechanism"


def _known(request: Request) -> Analysis:
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
    return Analysis(KNOWN.name, KNOWN.kind, ProfileBound(profile, exact=tight))


KNOWN = Method(
    name="gaussian",
    kind="proven",
    summary="participation known: the closed-form Gaussian mechanism, no amplification",
    analyse=_known,
    condition=_known_condition,
    relations=ADJACENCIES,
)

# Beyond this mu the limit says nothing at any epsilon of interest; a larger exponent is beyond
# floating point.
LARGEST_MU, LARGEST_EXPONENT = 1e3, 600.0
# A mu that would underflow counts as this one.
SMALLEST_MU = 1e-100
WARNING = "a limit of many steps that often reports too little, no guarantee"


def _limit_condition(plan: Plan) -> str | None:
    if plan.mechanism is not None:
        return "it needs the Gaussian mechanism"
    sampling = plan.sampling.independent_sampling(plan)
    if isinstance(sampling, Missing) or not sampling.exact or plan.correlated:
        return "it is a limit for Poisson sampling with independent noise"
    if sampling.most is not None:
        return "it is a limit for any number of participations"
    return None


def _limit(request: Request) -> Analysis:
    """Closed form."""
    assert request.noise_multiplier is not None
    rate = offered(request.plan.sampling.independent_sampling(request.plan)).rate
    inverse = 1 / request.noise_multiplier
    per_step = math.expm1(min(inverse * inverse, LARGEST_EXPONENT))
    mu = rate * math.sqrt(request.plan.steps * per_step)
    if mu > LARGEST_MU:
        raise PrecisionError(
            f"Noise multiplier {request.noise_multiplier:g} is too small for the limit: its mu is "
            f"above {LARGEST_MU:g}.",
            lower=0.0,
            upper=math.inf,
        )
    limit = ProfileBound(Profile(GaussianPair(max(mu, SMALLEST_MU))), details={"warning": WARNING})
    return Analysis(LIMIT.name, LIMIT.kind, limit)


LIMIT = Method(
    name="asymptotic-gdp",
    kind="asymptotic",
    summary="a Gaussian mechanism in the limit of many steps; no guarantee",
    analyse=_limit,
    condition=_limit_condition,
)
