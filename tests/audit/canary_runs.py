"""Runs of canaries alone: correct ones, and ones that went wrong in a known way."""

from __future__ import annotations

import numpy as np

import hockeystick as hs

STEPS = 500
BSR = hs.strategies.bsr(STEPS, bands=4)
PLANS = {
    "poisson": hs.Plan(sampling=hs.Poisson(rate=0.05), steps=STEPS),
    "balls-in-bins": hs.Plan(sampling=hs.BallsInBins(bins=20), steps=STEPS, strategy=BSR),
    "min-sep": hs.Plan(sampling=hs.MinSep(rate=0.06, separation=4), steps=STEPS, strategy=BSR),
}
# About epsilon = 4 at delta = 1e-3 for the second and third; the first has more noise at 4.
NOISE = {"poisson": 1.0, "balls-in-bins": 3.4, "min-sep": 2.4}


def noise_of(strategy, rows, rng):
    """Rows of C^-1 Z."""
    z = rng.standard_normal((rows, strategy.steps))
    if strategy.is_identity:
        return z
    return np.linalg.solve(strategy.to_matrix(), z.T).T


def projections(plan, noise_multiplier, members, rng, *, sampling=None, noise=None, amplitude=1.0):
    """What a run with these canaries releases, in units of the clip norm."""
    count = members.size
    rows = noise_multiplier * (noise_of(plan.strategy, count, rng) if noise is None else noise)
    scheme = plan.sampling if sampling is None else sampling
    for step, batch in enumerate(scheme.batches(examples=count, steps=plan.steps, rng=rng)):
        rows[batch[members[batch]], step] += amplitude
    return rows


def restarted(strategy, rows, rng, *, at):
    """Correlated noise that begins anew at a step."""
    first, second = strategy.to_matrix()[:at, :at], strategy.to_matrix()[at:, at:]
    z = rng.standard_normal((strategy.steps, rows))
    parts = np.linalg.solve(first, z[:at]), np.linalg.solve(second, z[at:])
    return np.concatenate(parts).T
