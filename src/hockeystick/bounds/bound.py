"""`UpperBound`, one answer of an analysis, and `Bound`, what gives such answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from hockeystick.profile import Profile
from hockeystick.profile.resolution import Direction

__all__ = ["Bound", "UpperBound", "largest"]


def _none() -> None:
    """No lower bound is known."""


@dataclass(frozen=True)
class UpperBound:
    """A proven upper bound on one number, with everything that is known about it.

    The whole answer is made at once and never changes. Only the lower bound may be computed later,
    when it is read for the first time, because it can cost as much as the value.

    Parameters
    ----------
    value
        The number, epsilon or delta: never below the truth.
    direction
        The direction that decides, or None where the directions are not told apart.
    details
        How the number was found, as plain values: the Renyi order, for instance.
    find_lower
        Computes a proven lower bound on the truth, or None where none is known.
    """

    value: float
    direction: Direction | None = None
    details: Mapping[str, object] = field(default_factory=dict)
    find_lower: Callable[[], float | None] = field(default=_none, repr=False, compare=False)

    @cached_property
    def lower(self) -> float | None:
        """A proven lower bound on the truth, at most the value; None where none is known."""
        found = self.find_lower()
        return None if found is None else min(found, self.value)


def largest(bounds: Iterable[UpperBound]) -> UpperBound:
    """The answer of the direction that decides; the first one of several."""
    return max(bounds, key=lambda bound: bound.value)


class Bound(ABC):
    """What an analysis returns: upper bounds on epsilon and delta of one run.

    A bound answers each request in the best way it knows, which may differ from request to request.
    The same request always has the same answer, whatever was requested before. `as_profile` is one
    pair that stands for all requests; it is valid everywhere and therefore composes.
    """

    @property
    def tight(self) -> bool:
        """Whether it is the run's own dominating pair, exact up to the accuracy."""
        return False

    @property
    def closed_form(self) -> bool:
        """Whether the answers come from a formula, so that they cost nothing."""
        return False

    @abstractmethod
    def epsilon(
        self, delta: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """A bound on the largest epsilon(delta) over the directions.

        Parameters
        ----------
        delta
            In (0, 1).
        directions
            "remove", "add" or both.
        accuracy
            How far the answer may be above what the analysis can reach, relatively.

        Raises
        ------
        PrecisionError
            If the accuracy is out of reach; it carries the bounds that were reached.
        """

    @abstractmethod
    def delta(
        self, epsilon: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """A bound on the largest delta(epsilon) over the directions; else as `epsilon`."""

    @abstractmethod
    def as_profile(self) -> Profile:
        """A pair that dominates the run."""

    def coarse_epsilon(self, delta: float, *, directions: Sequence[Direction]) -> float:
        """An estimate of `epsilon(delta)` at a small part of its cost; not a bound.

        It tells whether an expensive bound can compete with one that is known. 0 by default: where
        there is no cheaper estimate, the bound itself is evaluated.
        """
        return 0.0
