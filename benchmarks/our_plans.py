"""Plans that several participants of ours are asked about; they need hockeystick itself."""

from __future__ import annotations

import settings as s  # beside this file

import hockeystick as hs


def gram_plan():
    """Bins with correlated noise."""
    c = s.GRAM
    steps = c["bins"] * c["epochs"]
    strategy = hs.strategies.bsr(steps, bands=c["bands"])
    return hs.Plan(sampling=hs.BallsInBins(bins=c["bins"]), steps=steps, strategy=strategy)
