"""Our method `renyi`, where `gram` applies as well."""

from __future__ import annotations

import settings as s  # beside harness.py
from our_plans import gram_plan

import hockeystick as hs


def gram():
    """One epsilon; nothing is remembered between calls."""
    guarantee = hs.account(gram_plan(), noise_multiplier=s.GRAM["noise"], method="renyi")
    return None, guarantee.epsilon(s.GRAM["delta"])


CASES = {"gram": gram}
