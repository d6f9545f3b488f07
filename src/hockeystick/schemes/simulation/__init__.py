"""Drawing the privacy loss of whole runs: what the schemes' simulations share."""

from __future__ import annotations

from hockeystick.schemes.simulation.run import (
    Drawn,
    Proposal,
    Replicas,
    Runner,
    Simulation,
    TupleSource,
    missing_simulation,
    runs_of,
    simulation_remark,
)

__all__ = [
    "Drawn",
    "Proposal",
    "Replicas",
    "Runner",
    "Simulation",
    "TupleSource",
    "missing_simulation",
    "runs_of",
    "simulation_remark",
]
