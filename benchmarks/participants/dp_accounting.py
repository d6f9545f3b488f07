"""dp-accounting: the PLD accountant with its default grid (an upper bound only)."""

from __future__ import annotations

import dp_accounting
import settings as s  # beside harness.py
from dp_accounting.pld import PLDAccountant


def _compose(accountant, noise, rate, steps):
    event = dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(noise))
    accountant.compose(dp_accounting.SelfComposedDpEvent(event, steps))


def _single(c):
    accountant = PLDAccountant()
    _compose(accountant, c["noise"], c["rate"], c["steps"])
    return None, accountant.get_epsilon(c["delta"])


def fifty_phases():
    """Fifty noise levels in turn."""
    accountant = PLDAccountant()
    for noise in s.PHASES["noises"]:
        _compose(accountant, noise, s.PHASES["rate"], s.PHASES["steps"])
    return None, accountant.get_epsilon(s.PHASES["delta"])


CASES = {
    "poisson": lambda: _single(s.POISSON),
    "fifty phases": fifty_phases,
    "small noise": lambda: _single(s.SMALL_NOISE),
}
