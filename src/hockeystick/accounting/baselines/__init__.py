"""What runs are compared with: numbers that are not guarantees of the plan, one file each."""

from __future__ import annotations

from hockeystick.accounting.baselines import no_amplification, poisson, shuffling
from hockeystick.accounting.baselines.baseline import Baseline

__all__ = ["BASELINES", "Baseline"]

BASELINES: dict[str, Baseline] = {
    module.BASELINE.name: module.BASELINE for module in (poisson, no_amplification, shuffling)
}
"""Every baseline by its name, in the order in which they are shown."""
