"""What analyses return: `UpperBound`, one answer; `Bound`, which gives answers; `Analysis`.

Several analyses of one run compete: `evaluate` has the answers that are needed for a request.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

from hockeystick.errors import InvalidParameter, PrecisionError
from hockeystick.profile import Profile
from hockeystick.profile.resolution import Direction

__all__ = [
    "KINDS",
    "Analysis",
    "Bound",
    "Evaluated",
    "Kind",
    "Query",
    "UpperBound",
    "evaluate",
    "largest",
]


def _none() -> None:
    """No lower bound is known."""


@dataclass(frozen=True)
class UpperBound:
    """An upper bound of the kind that its `Analysis` states, with all that is known about it.

    The whole answer is made at once and never changes. Only the lower bound may be computed later,
    when it is read for the first time, because it can cost as much as the value.

    Parameters
    ----------
    value
        The number, epsilon or delta; if the kind is "proven", never below the truth.
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

    def __post_init__(self) -> None:
        if not (_is_number(self.value) and self.value >= 0):
            raise InvalidParameter("value", "a number >= 0", self.value)

    @cached_property
    def lower(self) -> float | None:
        """A proven lower bound on the truth, at most the value; None where none is known."""
        found = self.find_lower()
        if found is None:
            return None
        if not _is_number(found):
            raise InvalidParameter("lower", "a number or None", found)
        return min(max(found, 0.0), self.value)


def _is_number(value: Any) -> bool:
    real = isinstance(value, (int, float)) and not isinstance(value, bool)
    return real and not math.isnan(value)


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


Kind = Literal["proven", "verified", "confidence", "asymptotic", "conjectured"]
# From the strongest to the weakest.
KINDS: tuple[Kind, ...] = ("proven", "verified", "confidence", "asymptotic", "conjectured")
# An expensive bound is not evaluated if its coarse estimate is this many times above the best
# epsilon so far: estimates are within a few per cent (tests/analyses/conditional). Smaller epsilons
# count as this one.
FAR_OFF, SMALLEST_EPSILON = 2.0, 1e-3


@dataclass(frozen=True)
class Analysis:
    """One analysis of a plan: the name of its method, the kind of its claim, and its bound."""

    method: str
    kind: Kind
    bound: Bound

    @property
    def tight(self) -> bool:
        """Whether the bound is exact up to the accuracy, so that no other one can be better."""
        return self.bound.tight


class Query(NamedTuple):
    """The epsilon at a delta, or the delta at an epsilon: one of the two is None."""

    delta: float | None
    epsilon: float | None
    directions: tuple[Direction, ...]
    accuracy: float

    def of(self, bound: Bound) -> UpperBound:
        """What a bound answers."""
        options: dict[str, Any] = {"directions": self.directions, "accuracy": self.accuracy}
        if self.delta is not None:
            return bound.epsilon(self.delta, **options)
        assert self.epsilon is not None
        return bound.delta(self.epsilon, **options)

    def is_out_of_reach(self, bound: Bound, best: float) -> bool:
        """Whether an estimate shows that a bound cannot compete with the best value so far."""
        epsilon, delta = (best, self.delta) if self.epsilon is None else (self.epsilon, best)
        if delta is None or not 0 < delta < 1:
            return False
        estimate = bound.coarse_epsilon(delta, directions=self.directions)
        return estimate > FAR_OFF * max(epsilon, SMALLEST_EPSILON)


@dataclass(frozen=True)
class Evaluated:
    """What the analyses that were needed answered; all are bounds on the same truth."""

    analyses: tuple[Analysis, ...]
    bounds: tuple[UpperBound, ...]

    @property
    def best(self) -> UpperBound:
        """The smallest one; the first one of several."""
        return min(self.bounds, key=lambda bound: bound.value)

    @property
    def analysis(self) -> Analysis:
        """The analysis behind the smallest one."""
        return self.analyses[self.bounds.index(self.best)]

    @property
    def lower(self) -> float | None:
        """The largest lower bound that an analysis knows, at most the best upper bound.

        A number that is proven to be 0 is its own lower bound.
        """
        if self.best.value == 0 and self.analysis.kind == "proven":
            return 0.0
        known = [bound.lower for bound in self.bounds if bound.lower is not None]
        return min(max(known), self.best.value) if known else None


def evaluate(
    query: Query,
    analyses: Sequence[Analysis],
    reserve: Callable[[], Sequence[Analysis]] = tuple,
) -> Evaluated:
    """What the analyses say; an exact one needs no second opinion unless it fails.

    One that fails still contributes the upper bound that it reached, if another one answers; then
    those in reserve are evaluated as well. Nothing is better than 0.

    Raises
    ------
    PrecisionError
        If every analysis fails.
    """
    found: list[tuple[Analysis, UpperBound]] = []
    failures: list[PrecisionError] = []

    def best() -> float:
        return min(bound.value for _, bound in found)

    def collect(analyses: Sequence[Analysis]) -> None:
        for analysis in analyses:
            try:
                if found and query.is_out_of_reach(analysis.bound, best()):
                    continue
                bound = query.of(analysis.bound)
            except PrecisionError as error:
                failures.append(error)
                bound = _reached(error, exact=analysis.tight)
            found.append((analysis, bound))
            if (analysis.tight and not failures) or bound.value == 0:
                break

    collect(analyses)
    if failures and best() > 0:
        collect(reserve())
    if len(failures) == len(found):
        raise failures[0]
    evaluated, bounds = zip(*found, strict=True)
    return Evaluated(evaluated, bounds)


def _reached(error: PrecisionError, *, exact: bool) -> UpperBound:
    """The bounds that an analysis reached before it gave up."""
    return UpperBound(error.upper, find_lower=lambda: error.lower if exact else None)
