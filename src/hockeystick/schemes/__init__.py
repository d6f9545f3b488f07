"""Sampling schemes: one frozen description that both the accountant and the training loop use.

A scheme is a class derived from `Sampling`. It is known to the command line, to `compare` and to
statements once it is registered, with one line: `register(Scheme)`, or `@register` above the class.
"""

from __future__ import annotations

from inspect import isclass
from typing import Any, TypeVar

from hockeystick._validate import concrete, with_known_names
from hockeystick.errors import InvalidParameter
from hockeystick.randomness import RandomSource, generator
from hockeystick.schemes.balls_in_bins import BallsInBins
from hockeystick.schemes.base import Sampling, check_scheme_class
from hockeystick.schemes.batches import Indices
from hockeystick.schemes.capabilities import (
    Allocation,
    Candidate,
    DominatingPair,
    Equivalent,
    IndependentSampling,
    Missing,
    Renewal,
    Run,
    Simulator,
    Step,
)
from hockeystick.schemes.conjectured_user_min_sep import ConjecturedUserMinSep
from hockeystick.schemes.cyclic_poisson import CyclicPoisson
from hockeystick.schemes.full_batch import FullBatch, Shuffle
from hockeystick.schemes.min_sep import MinSep
from hockeystick.schemes.poisson import Poisson
from hockeystick.schemes.random_allocation import RandomAllocation
from hockeystick.schemes.user_min_sep import UserMinSep
from hockeystick.schemes.user_min_sep.attribution import Attribution
from hockeystick.schemes.user_min_sep.contribution_bounding import (
    BoundedContributions,
    bound_contributions,
)
from hockeystick.schemes.user_min_sep.formed_batches import FormedBatches

__all__ = [
    "SCHEMES",
    "Allocation",
    "Attribution",
    "BallsInBins",
    "BoundedContributions",
    "Candidate",
    "ConjecturedUserMinSep",
    "CyclicPoisson",
    "DominatingPair",
    "Equivalent",
    "FormedBatches",
    "FullBatch",
    "IndependentSampling",
    "Indices",
    "MinSep",
    "Missing",
    "Poisson",
    "RandomAllocation",
    "RandomSource",
    "Renewal",
    "Run",
    "Sampling",
    "Shuffle",
    "Simulator",
    "Step",
    "UserMinSep",
    "bound_contributions",
    "generator",
    "register",
]

Scheme = TypeVar("Scheme", bound=type[Sampling])

SCHEMES: dict[str, type[Sampling]] = {}
"""Every registered scheme by its kebab-case name."""


def register(scheme: Scheme) -> Scheme:
    """Make a scheme known by its name, to the command line, `compare` and statements.

    Parameters
    ----------
    scheme
        A class derived from `Sampling`. Registering the same class again changes nothing.

    Returns
    -------
    type[Sampling]
        The class itself, so that this also works as a decorator.

    Raises
    ------
    InvalidParameter
        If it is no such class, abstract or no frozen dataclass, or another scheme has the name.

    Examples
    --------
    >>> import hockeystick as hs
    >>> hs.schemes.register(hs.Poisson) is hs.schemes.SCHEMES["poisson"]
    True
    """
    _check(scheme)
    known = SCHEMES.setdefault(scheme.name, scheme)
    if known is not scheme:
        raise InvalidParameter("scheme", f"named other than {known.__qualname__}", scheme.name)
    return with_known_names(scheme, methods=("__init__", "for_batch_size"))


def _check(scheme: Any) -> None:
    """`InvalidParameter` unless plans can be made with the class."""
    if not isclass(scheme) or not issubclass(scheme, Sampling):
        raise InvalidParameter("scheme", "a class derived from Sampling", scheme)
    concrete("scheme", scheme)
    name = getattr(scheme, "name", None)
    if not isinstance(name, str) or not name:
        raise InvalidParameter("scheme", "a class whose `name` is a text", name)
    check_scheme_class(scheme)


for _scheme in (
    FullBatch,
    Poisson,
    CyclicPoisson,
    BallsInBins,
    RandomAllocation,
    MinSep,
    UserMinSep,
    ConjecturedUserMinSep,
    FormedBatches,
    Shuffle,
):
    register(_scheme)
