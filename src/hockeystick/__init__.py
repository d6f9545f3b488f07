"""Privacy accounting for differentially private training and adaptive analysis.

How much noise, which batches, what guarantee? Describe the run as a `Plan`, ask `account` what it
guarantees or `calibrate` how much noise it needs, and draw its batches from the same object.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hockeystick import errors, schemes, strategies
from hockeystick._version import __version__
from hockeystick.accounting import account, baselines, methods
from hockeystick.accounting.calibrate import Calibration, calibrate
from hockeystick.accounting.prefixes import account_prefixes
from hockeystick.guarantee import Guarantee
from hockeystick.plan import Plan
from hockeystick.profile import Profile
from hockeystick.schemes import (
    Attribution,
    BallsInBins,
    ConjecturedUserMinSep,
    CyclicPoisson,
    FormedBatches,
    FullBatch,
    MinSep,
    Poisson,
    RandomAllocation,
    Shuffle,
    UserMinSep,
    bound_contributions,
)
from hockeystick.sequence import Sequence

if TYPE_CHECKING:
    from hockeystick import audit, datasets, fdp, filters, interop, ledger, training, tuning
    from hockeystick.accounting.compare import Compared, compare, steps_for
    from hockeystick.analyses.conditional import conditional
    from hockeystick.montecarlo import Execution, MonteCarlo
    from hockeystick.montecarlo.estimate import (
        Estimate,
        estimate_delta,
        estimate_profile,
        estimate_profiles,
    )
    from hockeystick.montecarlo.noise_estimate import EstimatedNoise, estimate_noise
    from hockeystick.montecarlo.verifier import DrawPlan
    from hockeystick.montecarlo.verify import draws_to_verify, verify

# Loaded when they are first asked for, so that importing the package stays light.
_ON_DEMAND = {
    "Compared": "accounting.compare",
    "DrawPlan": "montecarlo.verifier",
    "Estimate": "montecarlo.estimate",
    "EstimatedNoise": "montecarlo.noise_estimate",
    "Execution": "montecarlo",
    "MonteCarlo": "montecarlo",
    "compare": "accounting.compare",
    "conditional": "analyses.conditional",
    "draws_to_verify": "montecarlo.verify",
    "estimate_delta": "montecarlo.estimate",
    "estimate_noise": "montecarlo.noise_estimate",
    "estimate_profile": "montecarlo.estimate",
    "estimate_profiles": "montecarlo.estimate",
    "steps_for": "accounting.compare",
    "verify": "montecarlo.verify",
}
_PACKAGES_ON_DEMAND = (
    "audit",
    "datasets",
    "fdp",
    "filters",
    "interop",
    "jax",
    "ledger",
    "torch",
    "training",
    "transformers",
    "tuning",
)

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
    "FormedBatches",
    "FullBatch",
    "Guarantee",
    "MinSep",
    "MonteCarlo",
    "Plan",
    "Poisson",
    "Profile",
    "RandomAllocation",
    "Sequence",
    "Shuffle",
    "UserMinSep",
    "__version__",
    "account",
    "account_prefixes",
    "audit",
    "baselines",
    "bound_contributions",
    "calibrate",
    "compare",
    "conditional",
    "datasets",
    "draws_to_verify",
    "errors",
    "estimate_delta",
    "estimate_noise",
    "estimate_profile",
    "estimate_profiles",
    "fdp",
    "filters",
    "interop",
    "ledger",
    "methods",
    "schemes",
    "steps_for",
    "strategies",
    "training",
    "tuning",
    "verify",
]


def __getattr__(name: str) -> Any:
    """The names that are loaded on demand."""
    if name in _PACKAGES_ON_DEMAND:
        return import_module(f"hockeystick.{name}")
    if name not in _ON_DEMAND:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"hockeystick.{_ON_DEMAND[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
