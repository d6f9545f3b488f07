"""PLD-accounting: its adaptive range at the default accuracy."""

from __future__ import annotations

import settings as s  # beside harness.py
from PLD_accounting import gaussian_allocation_epsilon_range


def allocation():
    """One block of random allocation."""
    c = s.ALLOCATION
    upper, lower = gaussian_allocation_epsilon_range(
        sigma=c["noise"], num_steps=c["out_of"], delta=c["delta"]
    )
    return lower, upper


CASES = {"allocation": allocation}
