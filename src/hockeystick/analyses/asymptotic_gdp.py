"""`asymptotic-gdp`: Poisson sampling as one Gaussian mechanism, in the limit of many steps.

The privacy loss of many sampled Gaussian steps tends to that of a Gaussian mechanism with
mu^2 = steps rate^2 (e^(1/sigma^2) - 1) ([Bu20]; [Tran26, Theorem 4.1]). The
limit has no proven error at a finite number of steps and usually reports too little (docs/errata),
hence the kind "asymptotic", which "auto" never takes.
"""

from __future__ import annotations

import math

from hockeystick.analyses.method import Method, Request
from hockeystick.bounds.profiles import ProfileBound
from hockeystick.errors import PrecisionError
from hockeystick.guarantee import Analysis
from hockeystick.plan import Plan
from hockeystick.profile import Profile
from hockeystick.profile.expressions.mechanisms import GaussianPair
from hockeystick.schemes import Missing
from hockeystick.schemes.capabilities import offered

__all__ = ["METHOD"]

# Beyond this mu the limit says nothing at any epsilon of interest; a larger exponent is beyond
# floating point.
LARGEST_MU, LARGEST_EXPONENT = 1e3, 600.0
# A mu that would underflow counts as this one.
SMALLEST_MU = 1e-100
WARNING = "a limit of many steps that often reports too little, no guarantee"


def _condition(plan: Plan) -> str | None:
    if plan.mechanism is not None:
        return "it needs the Gaussian mechanism"
    sampling = plan.sampling.independent_sampling(plan)
    if isinstance(sampling, Missing) or not sampling.exact or plan.correlated:
        return "it is a limit for Poisson sampling with independent noise"
    if sampling.most is not None:
        return "it is a limit for any number of participations"
    return None


def _analyse(request: Request) -> Analysis:
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
    return Analysis(METHOD.name, METHOD.kind, limit)


METHOD = Method(
    name="asymptotic-gdp",
    kind="asymptotic",
    summary="a Gaussian mechanism in the limit of many steps; no guarantee",
    analyse=_analyse,
    condition=_condition,
)
