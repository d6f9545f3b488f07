"""Sampling schemes: one frozen description that both the accountant and the training loop use."""

from __future__ import annotations

from hockeystick.randomness import RandomSource, generator
from hockeystick.sampling.balls_in_bins import BallsInBins
from hockeystick.sampling.cyclic_poisson import CyclicPoisson
from hockeystick.sampling.full_batch import FullBatch
from hockeystick.sampling.poisson import Poisson
from hockeystick.sampling.random_allocation import RandomAllocation
from hockeystick.sampling.scheme import Indices, Sampling
from hockeystick.sampling.shuffle import Shuffle

__all__ = [
    "SCHEMES",
    "BallsInBins",
    "CyclicPoisson",
    "FullBatch",
    "Indices",
    "Poisson",
    "RandomAllocation",
    "RandomSource",
    "Sampling",
    "Shuffle",
    "generator",
]

_ALL: list[type[Sampling]] = [
    FullBatch,
    Poisson,
    CyclicPoisson,
    BallsInBins,
    RandomAllocation,
    Shuffle,
]

SCHEMES: dict[str, type[Sampling]] = {scheme.name: scheme for scheme in _ALL}
"""Every scheme by its kebab-case name."""
