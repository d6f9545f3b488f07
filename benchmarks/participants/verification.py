"""Our test of a claim by draws, where `gram` applies as well."""

from __future__ import annotations

import settings as s  # beside harness.py

import hockeystick as hs


def _plan():
    c = s.GRAM
    steps = c["bins"] * c["epochs"]
    strategy = hs.strategies.bsr(steps, bands=c["bands"])
    return hs.Plan(sampling=hs.BallsInBins(bins=c["bins"]), steps=steps, strategy=strategy)


def gram():
    """A claim that `gram` proves; pilot draws included."""
    c = s.GRAM
    guarantee = hs.verify(
        _plan(), noise_multiplier=c["noise"], epsilon=c["epsilon"], delta=c["delta"], seed=1
    )
    return None, guarantee.epsilon(c["delta"])


CASES = {"gram": gram}
