"""Drawing the privacy loss of whole runs, one file per sampling scheme."""

from __future__ import annotations

from hockeystick.simulation import balls_in_bins, random_allocation
from hockeystick.simulation.registry import Simulation, missing_simulation, simulation

__all__ = [
    "Simulation",
    "balls_in_bins",
    "missing_simulation",
    "random_allocation",
    "simulation",
]
