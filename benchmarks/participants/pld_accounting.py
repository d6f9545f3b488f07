"""PLD-accounting: its adaptive range at the default accuracy."""

from __future__ import annotations

from functools import partial

from PLD_accounting import gaussian_allocation_epsilon_range

import settings as s  # beside harness.py
from starting import importing


def allocation(noise, out_of, delta, picks=1):
    """One block of random allocation."""
    upper, lower = gaussian_allocation_epsilon_range(
        sigma=noise, num_steps=out_of, num_selected=picks, delta=delta
    )
    return lower, upper


BLOCK = {name: s.PICKS[name] for name in ("noise", "out_of", "delta")}
CASES = {
    "allocation": partial(allocation, **s.ALLOCATION),
    **{f"{n}-of-1024": partial(allocation, picks=n, **BLOCK) for n in s.PICKS["picks"]},
    "import": importing("PLD_accounting"),
}
SWEEPS = {"block": lambda out_of: allocation(out_of=out_of, **s.SWEEPS["block"])}
