"""Opacus: its RDP accountant with its defaults (an upper bound only)."""

from __future__ import annotations

from functools import partial

from opacus.accountants import RDPAccountant

import settings as s  # beside harness.py
from starting import importing


def _epsilon(phases, delta):
    """Of phases (noise, rate, steps), which are written into its history."""
    accountant = RDPAccountant()
    accountant.history = list(phases)
    return None, accountant.get_epsilon(delta)


def poisson(noise, rate, steps, delta):
    """Plain Poisson sampling."""
    return _epsilon([(noise, rate, steps)], delta)


def fifty_phases():
    """Fifty noise levels in turn."""
    c = s.PHASES
    return _epsilon([(noise, c["rate"], c["steps"]) for noise in c["noises"]], c["delta"])


CASES = {
    "poisson": partial(poisson, **s.POISSON),
    "fifty-phases": fifty_phases,
    "small-noise": partial(poisson, **s.SMALL_NOISE),
    "import": importing("opacus"),
}
SWEEPS = {
    "steps": lambda steps: poisson(steps=steps, **s.SWEEPS["steps"]),
    "delta": lambda delta: poisson(delta=delta, **s.SWEEPS["delta"]),
}
