"""Our test of a claim by draws, where `gram` applies as well."""

from __future__ import annotations

import settings as s  # beside harness.py
from our_plans import gram_plan

import hockeystick as hs


def gram():
    """A claim that `gram` proves; pilot draws included."""
    c = s.GRAM
    guarantee = hs.verify(
        gram_plan(), noise_multiplier=c["noise"], epsilon=c["epsilon"], delta=c["delta"], seed=1
    )
    return None, guarantee.epsilon(c["delta"])


CASES = {"gram": gram}
