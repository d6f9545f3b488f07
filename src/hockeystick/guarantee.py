"""`Guarantee`: what a run guarantees, as a set of analyses that answer for any epsilon or delta."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import NamedTuple

from hockeystick import _validate as check
from hockeystick.bounds import KINDS, Analysis, Evaluated, Kind, Query, evaluate
from hockeystick.bounds.profiles import ProfileBound
from hockeystick.bounds.risk import AttackRisk
from hockeystick.errors import InvalidParameter
from hockeystick.profile import DEFAULT_ACCURACY, Profile
from hockeystick.profile.resolution import BOTH, Direction

__all__ = ["ADJACENCY", "KINDS", "Analysis", "Answer", "Guarantee", "Kind", "directions_for"]

ADJACENCY = "zero-out / add-remove"
# What is said about a composition of confidence bounds.
FAILURES_ADD_UP = "the failure probabilities of the parts add up"
# The delta of `Guarantee.method` before any number was requested: common in the literature.
REFERENCE_DELTA = 1e-6


class Answer(NamedTuple):
    """A number with its origin.

    Attributes
    ----------
    value : float
        The upper bound on epsilon or delta.
    lower : float or None
        A proven lower bound on the truth, or None where none is known.
    method : str
        The analysis that gave the number.
    kind : str
        How far the claim is established, one of `KINDS`.
    details : mapping
        How the analysis found the number, as plain values: the Renyi order, for instance.
    """

    value: float
    lower: float | None
    method: str
    kind: Kind
    details: Mapping[str, object] = {}


def _nothing() -> None:
    """There is no note."""


@dataclass(frozen=True, eq=False)
class Guarantee(AttackRisk):
    """Privacy of a run, for any epsilon or delta.

    With several analyses the smallest answer is given: all of them are valid, so their minimum is.

    Parameters
    ----------
    analyses
        Analyses of the same run, the best first. One that is tight is not compared with others.
    directions
        Which directions the numbers cover: "remove", "add" or both.
    accuracy
        How far an upper bound may be above what its analysis can reach, relatively.
    adjacency, unit
        The neighbouring relation, and whether it is about an example or a user.
    plans
        Descriptions of the runs, as plain values.
    find_note
        Finds something to know about every answer, or None; called when it is read.
    reserve
        Makes more analyses, which are evaluated only where the others miss their accuracy.
    left_out
        Proven methods that "auto" did not ask, with the reason of each.

    Examples
    --------
    >>> import hockeystick as hs
    >>> plan = hs.Plan(sampling=hs.Poisson(rate=0.01), steps=100)
    >>> guarantee = hs.account(plan, noise_multiplier=1.0)
    >>> round(guarantee.epsilon(delta=1e-5), 2)
    0.72
    >>> guarantee.method, guarantee.kind
    ('profile', 'proven')
    """

    analyses: tuple[Analysis, ...]
    directions: tuple[Direction, ...] = BOTH
    accuracy: float = DEFAULT_ACCURACY
    adjacency: str = ADJACENCY
    unit: str = "example"
    plans: tuple[dict[str, object], ...] = field(default=())
    find_note: Callable[[], str | None] = _nothing
    reserve: Callable[[], Sequence[Analysis]] = tuple
    left_out: Mapping[str, str] = field(default_factory=dict, repr=False)
    # Everything that was computed, the last request at the end.
    _answers: dict[Query, Evaluated] = field(default_factory=dict, init=False, repr=False)

    def epsilon(self, delta: float) -> float:
        """An upper bound on the smallest epsilon for which the run is (epsilon, delta)-DP.

        Parameters
        ----------
        delta
            In (0, 1).

        Returns
        -------
        float
            At least the truth, for the stated `kind`.

        Examples
        --------
        >>> import hockeystick as hs
        >>> plan = hs.Plan(sampling=hs.FullBatch(), steps=1)
        >>> round(hs.account(plan, noise_multiplier=1.0).epsilon(delta=1e-5), 3)
        4.377
        """
        return self._evaluated(delta=check.small_probability("delta", delta)).best.value

    def delta(self, epsilon: float) -> float:
        """An upper bound on the smallest delta for which the run is (epsilon, delta)-DP.

        Parameters
        ----------
        epsilon
            At least 0.

        Returns
        -------
        float
            At least the truth, for the stated `kind`.

        Examples
        --------
        >>> import hockeystick as hs
        >>> plan = hs.Plan(sampling=hs.FullBatch(), steps=1)
        >>> round(hs.account(plan, noise_multiplier=1.0).delta(epsilon=1.0), 4)
        0.1269
        """
        return self._evaluated(epsilon=check.at_least("epsilon", epsilon, 0.0)).best.value

    def answer(self, *, delta: float | None = None, epsilon: float | None = None) -> Answer:
        """The number together with its lower bound, the analysis that gave it and its kind.

        Parameters
        ----------
        delta, epsilon
            Exactly one of the two: epsilon is bounded at the given delta, or delta at the given
            epsilon.

        Returns
        -------
        Answer
            Its value is that of `epsilon` or `delta`. The lower bound may cost as much again where
            no analysis is tight.

        Examples
        --------
        >>> import hockeystick as hs
        >>> plan = hs.Plan(sampling=hs.Poisson(rate=0.1), steps=10)
        >>> answer = hs.account(plan, noise_multiplier=1.0).answer(delta=1e-5)
        >>> answer.lower <= answer.value <= 1.001 * answer.lower
        True
        """
        if (delta is None) == (epsilon is None):
            raise InvalidParameter("delta, epsilon", "exactly one of the two", (delta, epsilon))
        if delta is not None:
            delta = check.small_probability("delta", delta)
        else:
            epsilon = check.at_least("epsilon", epsilon, 0.0)
        found = self._evaluated(delta=delta, epsilon=epsilon)
        analysis, bound = found.analysis, found.best
        details = dict(bound.details)
        if bound.direction is not None:
            details = {"direction": bound.direction, **details}
        if self.note is not None:
            details["note"] = self.note
        return Answer(bound.value, found.lower, analysis.method, analysis.kind, details)

    @cached_property
    def note(self) -> str | None:
        """Something to know about every answer, or None."""
        return self.find_note()

    @property
    def kind(self) -> Kind:
        """How far the claim is established; the weakest of the analyses that take part."""
        return max((analysis.kind for analysis in self.analyses), key=KINDS.index)

    @property
    def method(self) -> str:
        """The analysis behind the numbers.

        With several that compete, the one behind the number that was given last, and before any the
        one that is best at delta = 1e-6, which costs as much as `epsilon(1e-6)`. `answer` has the
        method that belongs to its number.
        """
        if len(self.analyses) == 1 or self.analyses[0].tight:
            return self.analyses[0].method
        if not self._answers:
            self.epsilon(REFERENCE_DELTA)
        return next(reversed(self._answers.values())).analysis.method

    @cached_property
    def profile(self) -> Profile:
        """The profile H(P || Q) in the remove direction; `reverse()` of it is the add direction."""
        if self.analyses[0].tight:
            return self.analyses[0].bound.as_profile()
        profiles = (analysis.bound.as_profile() for analysis in self.analyses)
        return reduce(Profile.minimum, profiles)

    @property
    def exact_profile(self) -> Profile | None:
        """The profile of the run's own pair, where an analysis is tight."""
        return self.profile if self.analyses[0].tight else None

    def compose(self, other: Guarantee) -> Guarantee:
        """The guarantee of both runs together, on the same data.

        Parameters
        ----------
        other
            A guarantee for the same directions, adjacency and unit.

        Returns
        -------
        Guarantee
            Its numbers come from the composition of both profiles.

        Raises
        ------
        InvalidParameter
            If the two mean different things.

        Examples
        --------
        >>> import hockeystick as hs
        >>> once = hs.account(hs.Plan(sampling=hs.FullBatch(), steps=1), noise_multiplier=2.0)
        >>> twice = hs.account(hs.Plan(sampling=hs.FullBatch(), steps=2), noise_multiplier=2.0)
        >>> abs(once.compose(once).epsilon(1e-5) / twice.epsilon(1e-5) - 1) < 1e-6
        True
        """
        for name in ("directions", "adjacency", "unit"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine != theirs:
                raise InvalidParameter(name, f"the same in both guarantees ({mine!r})", theirs)
        names = self._behind_profile, other._behind_profile
        kind = max((self.kind, other.kind), key=KINDS.index)
        both = ProfileBound(
            self.profile.compose(other.profile),
            exact=self.analyses[0].tight and other.analyses[0].tight,
        )
        analysis = Analysis(names[0] if names[0] == names[1] else " + ".join(names), kind, both)
        return replace(
            self,
            analyses=(analysis,),
            accuracy=min(self.accuracy, other.accuracy),
            plans=self.plans + other.plans,
            find_note=lambda: FAILURES_ADD_UP if kind == "confidence" else None,
            reserve=tuple,
            left_out={**self.left_out, **other.left_out},
        )

    def __repr__(self) -> str:
        names = ", ".join(analysis.method for analysis in self.analyses)
        return f"Guarantee(method={names!r}, kind={self.kind!r}, unit={self.unit!r})"

    @property
    def _behind_profile(self) -> str:
        """The analyses that `profile` is made of."""
        names = [analysis.method for analysis in self.analyses]
        return names[0] if len(names) == 1 or self.analyses[0].tight else f"min({', '.join(names)})"

    def _evaluated(self, *, delta: float | None = None, epsilon: float | None = None) -> Evaluated:
        """What the analyses say; computed once for each request."""
        query = Query(delta, epsilon, self.directions, self.accuracy)
        found = self._answers.pop(query, None)
        if found is None:
            found = evaluate(query, self.analyses, lambda: self._reserve)
        self._answers[query] = found
        return found

    @cached_property
    def _reserve(self) -> tuple[Analysis, ...]:
        return tuple(self.reserve())


def directions_for(direction: str) -> tuple[Direction, ...]:
    """The directions that a user's choice stands for."""
    choices: dict[str, tuple[Direction, ...]] = {
        "both": BOTH,
        "remove": ("remove",),
        "add": ("add",),
    }
    return choices[check.choice("direction", direction, choices, "'both', 'remove' or 'add'")]
