"""From a plan to its dominating pair, one file per sampling scheme."""

from __future__ import annotations

from hockeystick.pairs import (
    balls_in_bins,
    cyclic_poisson,
    full_batch,
    min_sep,
    poisson,
    random_allocation,
    user_min_sep,
)
from hockeystick.pairs.registry import DominatingPair, Step, dominating_pair, missing_pair
from hockeystick.pairs.steps import step_of

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
