"""Sampling schemes: one frozen description that both the accountant and the training loop use."""

from __future__ import annotations

from hockeystick.randomness import RandomSource, generator
from hockeystick.schemes.balls_in_bins.scheme import BallsInBins
from hockeystick.schemes.base import Indices, Sampling
from hockeystick.schemes.conjectured_user_min_sep.scheme import ConjecturedUserMinSep
from hockeystick.schemes.cyclic_poisson.scheme import CyclicPoisson
from hockeystick.schemes.full_batch.scheme import FullBatch
from hockeystick.schemes.min_sep.scheme import MinSep
from hockeystick.schemes.poisson.scheme import Poisson
from hockeystick.schemes.random_allocation.scheme import RandomAllocation
from hockeystick.schemes.shuffle.scheme import Shuffle
from hockeystick.schemes.user_min_sep.attribution import Attribution
from hockeystick.schemes.user_min_sep.contribution_bounding import (
    BoundedContributions,
    bound_contributions,
)
from hockeystick.schemes.user_min_sep.scheme import UserMinSep

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
