"""Privacy accounting for differentially private training and adaptive analysis.

How much noise, which batches, what guarantee? Describe the run as a `Plan`, ask `account` what it
guarantees or `calibrate` how much noise it needs, and draw its batches from the same object.
"""

from __future__ import annotations

from hockeystick import baselines, errors, strategies
from hockeystick._version import __version__
from hockeystick.accounting import account, methods
from hockeystick.calibration import Calibration, calibrate
from hockeystick.comparison import Compared, compare
from hockeystick.estimation import (
    Estimate,
    EstimatedNoise,
    estimate_delta,
    estimate_noise,
    estimate_profile,
    estimate_profiles,
)
from hockeystick.guarantee import Guarantee
from hockeystick.montecarlo.drafts import DrawPlan
from hockeystick.montecarlo.execution import Execution
from hockeystick.plan import Plan
from hockeystick.profile import Profile
from hockeystick.sampling import (
    Attribution,
    BallsInBins,
    ConjecturedUserMinSep,
    CyclicPoisson,
    FullBatch,
    MinSep,
    Poisson,
    RandomAllocation,
    Shuffle,
    UserMinSep,
    bound_contributions,
)
from hockeystick.verification import draws_to_verify, verify

__all__ = [
    "Attribution",
    "BallsInBins",
    "Calibration",
    "Compared",
    "ConjecturedUserMinSep",
    "CyclicPoisson",
    "DrawPlan",
    "Estimate",
    "EstimatedNoise",
    "Execution",
    "FullBatch",
    "Guarantee",
    "MinSep",
    "Plan",
    "Poisson",
    "Profile",
    "RandomAllocation",
    "Shuffle",
    "UserMinSep",
    "__version__",
    "account",
    "baselines",
    "bound_contributions",
    "calibrate",
    "compare",
    "draws_to_verify",
    "errors",
    "estimate_delta",
    "estimate_noise",
    "estimate_profile",
    "estimate_profiles",
    "methods",
    "strategies",
    "verify",
]
