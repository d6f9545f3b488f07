"""Drawing the privacy loss of whole runs, one file per sampling scheme."""

from __future__ import annotations

from hockeystick.schemes.balls_in_bins import simulation as balls_in_bins
from hockeystick.schemes.conjectured_user_min_sep import simulation as conjectured_user_min_sep
from hockeystick.schemes.cyclic_poisson import simulation as cyclic_poisson
from hockeystick.schemes.min_sep import simulation as min_sep
from hockeystick.schemes.random_allocation import simulation as random_allocation
from hockeystick.schemes.simulation.registry import (
    Drawn,
    Proposal,
    Simulation,
    missing_simulation,
    runs_of,
    simulation_remark,
)
from hockeystick.schemes.user_min_sep import simulation as user_min_sep

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
