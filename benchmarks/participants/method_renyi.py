"""Our method `renyi`, where `gram` applies as well."""

from __future__ import annotations

import hockeystick as hs
import settings as s  # beside harness.py
from ours.plans import banded_bins


def _epsilon(plan, c):
    guarantee = hs.account(plan, noise_multiplier=c["noise"], method="renyi")
    return None, guarantee.epsilon(c["delta"])


def gram():
    """One epsilon; nothing is remembered between calls."""
    return _epsilon(banded_bins(s.GRAM), s.GRAM)


def bins(number):
    """More and more bins."""
    c = s.SWEEPS["bins"]
    return _epsilon(banded_bins(c, bins=number), c)


CASES = {"gram": gram}
SWEEPS = {"bins": bins}
