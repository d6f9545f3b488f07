"""Our method `renyi`, where `gram` applies as well."""

from __future__ import annotations

import settings as s  # beside harness.py

import hockeystick as hs


def _plan():
    c = s.GRAM
    steps = c["bins"] * c["epochs"]
    strategy = hs.strategies.bsr(steps, bands=c["bands"])
    return hs.Plan(sampling=hs.BallsInBins(bins=c["bins"]), steps=steps, strategy=strategy)


def gram():
    """One epsilon; nothing is remembered between calls."""
    guarantee = hs.account(_plan(), noise_multiplier=s.GRAM["noise"], method="renyi")
    return None, guarantee.epsilon(s.GRAM["delta"])


CASES = {"gram": gram}
