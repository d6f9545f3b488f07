"""From a plan to its dominating pair, one file per sampling scheme."""

from __future__ import annotations

from hockeystick.pairs import cyclic_poisson, full_batch, poisson, random_allocation
from hockeystick.pairs.registry import DominatingPair, dominating_pair, has_pair

__all__ = [
    "DominatingPair",
    "cyclic_poisson",
    "dominating_pair",
    "full_batch",
    "has_pair",
    "poisson",
    "random_allocation",
]
