"""Our draws, where `gram` applies as well: a claim that they test, or an estimate."""

from __future__ import annotations

import hockeystick as hs
import settings as s  # beside harness.py
from ours.plans import banded_bins, estimated_delta, gram_plan


def gram():
    """A claim that `gram` proves; pilot draws included."""
    c = s.GRAM
    guarantee = hs.verify(
        gram_plan(), noise_multiplier=c["noise"], epsilon=c["epsilon"], delta=c["delta"], seed=1
    )
    return None, guarantee.epsilon(c["delta"])


def bins(number):
    """delta of more and more bins from the same number of draws."""
    c = s.SWEEPS["bins"]
    return estimated_delta(banded_bins(c, bins=number), c["noise"], c["epsilon"], c["draws"])


CASES = {"gram": gram}
SWEEPS = {"bins": bins}
