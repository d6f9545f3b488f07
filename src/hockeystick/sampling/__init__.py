"""Sampling schemes: one frozen description that both the accountant and the training loop use."""

from __future__ import annotations

from hockeystick.randomness import RandomSource, generator
from hockeystick.sampling.attribution import Attribution
from hockeystick.sampling.balls_in_bins import BallsInBins
from hockeystick.sampling.conjectured_user_min_sep import ConjecturedUserMinSep
from hockeystick.sampling.contribution_bounding import BoundedContributions, bound_contributions
from hockeystick.sampling.cyclic_poisson import CyclicPoisson
from hockeystick.sampling.full_batch import FullBatch
from hockeystick.sampling.min_sep import MinSep
from hockeystick.sampling.poisson import Poisson
from hockeystick.sampling.random_allocation import RandomAllocation
from hockeystick.sampling.scheme import Indices, Sampling
from hockeystick.sampling.shuffle import Shuffle
from hockeystick.sampling.user_min_sep import UserMinSep

__all__ = [
    "SCHEMES",
    "Attribution",
    "BallsInBins",
    "BoundedContributions",
    "ConjecturedUserMinSep",
    "CyclicPoisson",
    "FullBatch",
    "Indices",
    "MinSep",
    "Poisson",
    "RandomAllocation",
    "RandomSource",
    "Sampling",
    "Shuffle",
    "UserMinSep",
    "bound_contributions",
    "generator",
]

_ALL: list[type[Sampling]] = [
    FullBatch,
    Poisson,
    CyclicPoisson,
    BallsInBins,
    RandomAllocation,
    MinSep,
    UserMinSep,
    ConjecturedUserMinSep,
    Shuffle,
]

SCHEMES: dict[str, type[Sampling]] = {scheme.name: scheme for scheme in _ALL}
"""Every scheme by its kebab-case name."""
