"""The plans that are asked about: every scheme, with independent and with correlated noise."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

import hockeystick as hs

SCHEMES: dict[str, tuple[hs.schemes.Sampling, int]] = {
    "full batch": (hs.FullBatch(), 20),
    "poisson": (hs.Poisson(rate=0.05), 100),
    "poisson, at most 5": (hs.Poisson(rate=0.05, max_participations=5), 100),
    "poisson 2000": (hs.Poisson(rate=0.01), 2000),
    "cyclic": (hs.CyclicPoisson(rate=0.2, groups=4), 60),
    "cyclic, random phase": (hs.CyclicPoisson(rate=0.2, groups=4, random_phase=True), 60),
    "cyclic, known": (hs.CyclicPoisson(rate=1.0, groups=10), 60),
    "bins": (hs.BallsInBins(bins=10), 60),
    "four bins": (hs.BallsInBins(bins=4), 16),
    "bins 1000": (hs.BallsInBins(bins=100), 1000),
    "allocation": (hs.RandomAllocation(picks=1, out_of=20), 60),
    "allocation, one block": (hs.RandomAllocation(picks=1, out_of=20), 20),
    "allocation of 3": (hs.RandomAllocation(picks=3, out_of=20), 60),
    "allocation, truncated": (hs.RandomAllocation(picks=1, out_of=25, truncate=True), 60),
    "min-sep": (hs.MinSep(rate=0.1, separation=4), 60),
    "min-sep, short": (hs.MinSep(rate=0.1, separation=3), 12),
    "min-sep, cold": (hs.MinSep(rate=0.1, separation=4, warm_start=False), 30),
    "users": (hs.UserMinSep(rate=0.1, separation=4, examples_per_user=2), 40),
    "users, shared": (
        hs.UserMinSep(rate=0.1, separation=4, examples_per_user=2, shared_examples=True),
        40,
    ),
    "users, conjectured": (
        hs.ConjecturedUserMinSep(rate=0.1, separation=4, examples_per_user=2),
        40,
    ),
}


def a_matrix(steps: int) -> hs.strategies.Strategy:
    """A strategy that is not Toeplitz: two bands that vary from step to step."""
    diagonal = np.linspace(1.0, 1.5, steps)
    return hs.strategies.from_matrix(np.diag(diagonal) + np.diag(0.3 * diagonal[1:], -1))


STRATEGIES: dict[str, Callable[[int], hs.strategies.Strategy]] = {
    "identity": hs.strategies.identity,
    "bsr": lambda steps: hs.strategies.bsr(steps, bands=4),
    "bisr": lambda steps: hs.strategies.bisr(steps, bands=4),
    "band-mf": lambda steps: hs.strategies.band_mf(steps, bands=4),
    "band-inv-mf": lambda steps: hs.strategies.band_inv_mf(steps, bands=4),
    "blt": lambda steps: hs.strategies.blt(steps, buffers=2),
    "coefficients": lambda steps: hs.strategies.from_coefficients([1.0, 0.6, 0.3], steps),
    "matrix": a_matrix,
}


@cache
def strategy(name: str, steps: int) -> hs.strategies.Strategy:
    """A strategy by its name."""
    return STRATEGIES[name](steps)


@cache
def plan(scheme: str, noise: str = "identity") -> hs.Plan:
    """A scheme by its name, with a strategy by its name."""
    sampling, steps = SCHEMES[scheme]
    return hs.Plan(sampling=sampling, steps=steps, strategy=strategy(noise, steps))


def of_laplace(sampling: hs.schemes.Sampling) -> hs.Plan:
    """Thirty steps of the Laplace mechanism."""
    return hs.Plan(sampling=sampling, steps=30, mechanism=hs.Profile.laplace(scale=1.5))
