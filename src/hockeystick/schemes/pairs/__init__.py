"""From a plan to its dominating pair, one file per sampling scheme."""

from __future__ import annotations

from hockeystick.schemes.balls_in_bins import pair as balls_in_bins
from hockeystick.schemes.cyclic_poisson import pair as cyclic_poisson
from hockeystick.schemes.full_batch import pair as full_batch
from hockeystick.schemes.min_sep import pair as min_sep
from hockeystick.schemes.pairs.registry import DominatingPair, Step, dominating_pair, missing_pair
from hockeystick.schemes.pairs.steps import step_of
from hockeystick.schemes.poisson import pair as poisson
from hockeystick.schemes.random_allocation import pair as random_allocation
from hockeystick.schemes.user_min_sep import pair as user_min_sep

__all__ = [
    "DominatingPair",
    "Step",
    "balls_in_bins",
    "cyclic_poisson",
    "dominating_pair",
    "full_batch",
    "min_sep",
    "missing_pair",
    "poisson",
    "random_allocation",
    "step_of",
    "user_min_sep",
]
