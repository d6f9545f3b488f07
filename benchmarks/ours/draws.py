"""Monte Carlo: delta from draws, and noise that draws verify."""

from __future__ import annotations

from functools import partial

import hockeystick as hs
import settings as s  # beside harness.py
from ours.plans import estimated_delta, min_sep_plan


def min_sep(draws):
    """From a warm start."""
    c = {**s.DRAWS, **s.DRAWS["min sep"]}
    return estimated_delta(min_sep_plan(c), c["noise"], c["epsilon"], draws)


def balls_in_bins():
    """Through the inner products with the means of the bins."""
    c = {**s.DRAWS, **s.DRAWS["balls-in-bins"]}
    strategy = hs.strategies.bsr(c["steps"], bands=c["bands"])
    plan = hs.Plan(sampling=hs.BallsInBins(bins=c["bins"]), steps=c["steps"], strategy=strategy)
    return estimated_delta(plan, c["noise"], c["epsilon"], c["draws"])


def verified_noise():
    """Noise whose claim draws have accepted, from nothing known, with the default draws."""
    c = s.VERIFIED
    scheme = hs.MinSep.for_batch_size(c["batch"], examples=c["examples"], separation=c["bands"])
    strategy = hs.strategies.bsr(c["steps"], bands=c["bands"])
    plan = hs.Plan(sampling=scheme, steps=c["steps"], strategy=strategy)
    found = hs.calibrate(plan, epsilon=c["epsilon"], delta=c["delta"], method=hs.MonteCarlo(seed=1))
    return None, found.noise_multiplier


def verified(c):
    """A claim a little above the estimate of the noise; the estimate is part of the time."""
    scheme = hs.MinSep.for_batch_size(c["batch"], examples=c["examples"], separation=c["bands"])
    strategy = hs.strategies.bsr(c["steps"], bands=c["bands"])
    plan = hs.Plan(sampling=scheme, steps=c["steps"], strategy=strategy)
    claim = {"epsilon": c["epsilon"], "delta": c["delta"]}
    noise = c["slack"] * hs.estimate_noise(plan, **claim, seed=0).noise_multiplier
    guarantee = hs.verify(plan, noise_multiplier=noise, **claim, seed=1)
    return None, float(guarantee.kind == "verified"), [noise]


def draws(number):
    """More and more draws."""
    c = s.SWEEPS["draws"]
    return estimated_delta(min_sep_plan(c), c["noise"], c["epsilon"], number)


CASES = {
    "b-min-sep-draws": partial(min_sep, s.DRAWS["draws"]),
    "balls-in-bins-draws": balls_in_bins,
    **{name: partial(verified, c) for name, c in s.CLAIMS.items()},
    "many-draws": partial(min_sep, s.DRAWS["many"]),
    "verified-noise": verified_noise,
}
SWEEPS = {"draws": draws}
