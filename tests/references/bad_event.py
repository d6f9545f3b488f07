"""The bad event of conditional composition, by simulating whole runs."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["bad_event_frequency"]

Array = Any


def bad_event_frequency(
    levels: Array, shares: Array, *, present: bool, runs: int, seed: int, block: int = 20_000
) -> float:
    """How often some step n has X_i < shares[n, |B_i|] |B_i| for a bin i above its lowest level.

    `levels` holds what each bin adds in each step, in units of the noise; outputs are drawn with
    the example in a uniform bin (`present`) or without it.
    """
    rng = np.random.default_rng(seed)
    bad = 0
    for start in range(0, runs, block):
        bad += _bad_runs(levels, shares, present, min(block, runs - start), rng)
    return bad / runs


def _bad_runs(levels: Array, shares: Array, present: bool, count: int, rng: Any) -> int:
    steps, bins = levels.shape
    bin_of = rng.integers(bins, size=count)
    odds = np.ones((bins, count))  # likelihood of each bin over that of no example
    bad = np.zeros(count, dtype=bool)
    for n in range(steps):
        a = levels[n]
        # From the lowest level up: the sum over everything strictly below.
        below, size = np.zeros(count), 0
        for value in np.unique(a):
            level = np.flatnonzero(a == value)
            for i in level if size else ():
                bad |= below < shares[n, size] * size * odds[i] * (1 - 1e-9)
            below += (
                odds[level].sum(axis=0)
                if level.size < bins / 2
                else (odds.sum(axis=0) - odds[a != value].sum(axis=0))
            )
            size += level.size
        x = rng.standard_normal(count) + (a[bin_of] if present else 0.0)
        for i in np.flatnonzero(a):
            odds[i] *= np.exp(x * a[i] - a[i] ** 2 / 2)
    return int(bad.sum())
