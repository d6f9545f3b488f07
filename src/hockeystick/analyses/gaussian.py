"""`gaussian`: participation known, closed form."""

from __future__ import annotations

import math

from hockeystick.analyses.method import Method
from hockeystick.guarantee import Analysis
from hockeystick.plan import Plan
from hockeystick.profile import Profile
from hockeystick.sampling import FullBatch

__all__ = ["METHOD"]


def _objection(plan: Plan) -> str | None:
    return None if plan.mechanism is None else "it needs the Gaussian mechanism"


def _analyse(plan: Plan, noise_multiplier: float | None) -> Analysis:
    """One Gaussian mechanism with sensitivity sqrt(most participations); no amplification.

    Revealing in which steps the example takes part dominates the plan by joint convexity, and the
    largest number of participations is the worst case. Exact for the full batch.
    """
    assert noise_multiplier is not None
    participations = plan.sampling.most_participations(plan.steps)
    profile = Profile.gaussian(noise_multiplier=noise_multiplier / math.sqrt(participations))
    return Analysis(METHOD.name, METHOD.kind, profile, tight=plan.sampling == FullBatch())


METHOD = Method(
    name="gaussian",
    kind="proven",
    summary="participation known: the closed-form Gaussian mechanism, no amplification",
    objection=_objection,
    analyse=_analyse,
)
