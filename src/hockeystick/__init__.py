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
from hockeystick.estimation import Estimate, estimate_delta
from hockeystick.guarantee import Guarantee
from hockeystick.plan import Plan
from hockeystick.profile import Profile
from hockeystick.sampling import (
    BallsInBins,
    CyclicPoisson,
    FullBatch,
    Poisson,
    RandomAllocation,
    Shuffle,
)

__all__ = [
    "BallsInBins",
    "Calibration",
    "Compared",
    "CyclicPoisson",
    "Estimate",
    "FullBatch",
    "Guarantee",
    "Plan",
    "Poisson",
    "Profile",
    "RandomAllocation",
    "Shuffle",
    "__version__",
    "account",
    "baselines",
    "calibrate",
    "compare",
    "errors",
    "estimate_delta",
    "methods",
    "strategies",
]
