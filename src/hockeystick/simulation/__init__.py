"""Drawing the privacy loss of whole runs, one file per sampling scheme."""

from __future__ import annotations

from hockeystick.simulation import (
    balls_in_bins,
    conjectured_user_min_sep,
    cyclic_poisson,
    min_sep,
    random_allocation,
    user_min_sep,
)
from hockeystick.simulation.registry import (
    Drawn,
    Proposal,
    Simulation,
    missing_simulation,
    runs_of,
    simulation_remark,
)

__all__ = [
    "Drawn",
    "Proposal",
    "Simulation",
    "balls_in_bins",
    "conjectured_user_min_sep",
    "cyclic_poisson",
    "min_sep",
    "missing_simulation",
    "random_allocation",
    "runs_of",
    "simulation_remark",
    "user_min_sep",
]
