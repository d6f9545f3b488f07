"""PLD-accounting: its adaptive range at the default accuracy."""

from __future__ import annotations

from functools import partial

import settings as s  # beside harness.py
from PLD_accounting import gaussian_allocation_epsilon_range


def allocation(c, picks=1):
    """One block of random allocation."""
    upper, lower = gaussian_allocation_epsilon_range(
        sigma=c["noise"], num_steps=c["out_of"], num_selected=picks, delta=c["delta"]
    )
    return lower, upper


CASES = {
    "allocation": partial(allocation, s.ALLOCATION),
    **{f"{picks} out of 1,024": partial(allocation, s.PICKS, picks) for picks in s.PICKS["picks"]},
}
