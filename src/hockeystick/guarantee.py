"""Guarantee: the answer to "what does this run guarantee?"."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import Literal, NamedTuple, Protocol

from hockeystick import _validate as check
from hockeystick.bounds.bound import Source
from hockeystick.errors import InvalidParameter, PrecisionError
from hockeystick.profile import DEFAULT_ACCURACY, Profile
from hockeystick.profile.refinement import BOTH, Bounds, Direction

__all__ = [
    "ADJACENCY",
    "KINDS",
    "Analysis",
    "Answer",
    "Explain",
    "Guarantee",
    "Kind",
    "directions_for",
]

Kind = Literal["proven", "verified", "confidence", "asymptotic", "conjectured"]
# From the strongest to the weakest.
KINDS: tuple[Kind, ...] = ("proven", "verified", "confidence", "asymptotic", "conjectured")
ADJACENCY = "zero-out / add-remove"
# What is said about a composition of confidence bounds.
FAILURES_ADD_UP = "the failure probabilities of the parts add up"
# At which delta `Guarantee.method` compares analyses when several could answer.
REFERENCE_DELTA = 1e-6
# A preview this many times above the best epsilon so far is far off; smaller epsilons count as one.
FAR_OFF, SMALLEST_EPSILON = 2.0, 1e-3


class Point(NamedTuple):
    """What is proved: the run is (epsilon, delta)-DP."""

    epsilon: float
    delta: float


class Explain(Protocol):
    """How an analysis found a number, as plain values."""

    def __call__(
        self, *, delta: float | None, epsilon: float | None, directions: Sequence[Direction]
    ) -> dict[str, object]:
        """For the question with the one of delta and epsilon that is not None."""


class Below(Protocol):
    """A number that the run's own is never below."""

    def __call__(
        self, *, delta: float | None, epsilon: float | None, directions: Sequence[Direction]
    ) -> float:
        """For the question with the one of delta and epsilon that is not None."""


# A rough epsilon(delta), of the order of the source's own.
Preview = Callable[[float, Sequence[Direction]], float]


@dataclass(frozen=True)
class Analysis:
    """One analysis of a plan: a source of numbers, its method, and whether it is exact.

    `tight` says that the source is the profile of the mechanism's dominating pair itself, so that
    its lower bound is a lower bound on the truth as well. `preview` is a rough and quick epsilon of
    a slow source: one that is far from the best number so far is not asked. `explain` says how a
    number was found, as plain values. `below` is a proven lower bound on the truth of a source that
    is not exact.
    """

    method: str
    kind: Kind
    source: Source
    tight: bool
    preview: Preview | None = None
    explain: Explain | None = None
    below: Below | None = None


class Answer(NamedTuple):
    """A number with its origin. `lower` is a proven lower bound, or None where none is known.

    `details` say how the analysis found it: the Renyi order, for instance.
    """

    value: float
    lower: float | None
    method: str
    kind: Kind
    details: Mapping[str, object] = {}


@dataclass(frozen=True, eq=False)
class Guarantee:
    """Privacy of a run, as a whole profile: ask it for any epsilon or delta.

    With several analyses the smallest answer is given; all of them are valid, so their minimum is.
    """

    analyses: tuple[Analysis, ...]
    directions: tuple[Direction, ...] = BOTH
    accuracy: float = DEFAULT_ACCURACY
    adjacency: str = ADJACENCY
    unit: str = "example"
    plans: tuple[dict[str, object], ...] = field(default=())
    # Something to know about every answer.
    note: str | None = None
    # More analyses, never better than the others but where these miss their accuracy.
    reserve: Callable[[], Sequence[Analysis]] = tuple

    def epsilon(self, delta: float) -> float:
        """An upper bound on the smallest epsilon for which the run is (epsilon, delta)-DP."""
        return self._best_epsilon(check.small_probability("delta", delta)).value

    def delta(self, epsilon: float) -> float:
        """An upper bound on the smallest delta for which the run is (epsilon, delta)-DP."""
        return self._best_delta(check.at_least("epsilon", epsilon, 0.0)).value

    def answer(self, *, delta: float | None = None, epsilon: float | None = None) -> Answer:
        """The number together with its lower bound, the analysis that gave it and its kind."""
        if (delta is None) == (epsilon is None):
            raise InvalidParameter("delta, epsilon", "exactly one of the two", (delta, epsilon))
        if delta is not None:
            at_delta = check.small_probability("delta", delta)
            return self._explained(self._best_epsilon(at_delta), delta=at_delta, epsilon=None)
        at_epsilon = check.at_least("epsilon", epsilon, 0.0)
        return self._explained(self._best_delta(at_epsilon), delta=None, epsilon=at_epsilon)

    @property
    def kind(self) -> Kind:
        """How far the claim is established; the weakest of the analyses that take part."""
        return max((analysis.kind for analysis in self.analyses), key=KINDS.index)

    @cached_property
    def method(self) -> str:
        """The analysis behind the numbers; with several, the best one at delta = 1e-6."""
        if len(self.analyses) == 1 or self.analyses[0].tight:
            return self.analyses[0].method
        return self.answer(delta=REFERENCE_DELTA).method

    @property
    def profile(self) -> Profile:
        """The profile H(P || Q) in the remove direction; `reverse()` of it is the add direction."""
        if self.analyses[0].tight:
            return self.analyses[0].source.as_profile()
        profiles = (analysis.source.as_profile() for analysis in self.analyses)
        return reduce(Profile.minimum, profiles)

    def compose(self, other: Guarantee) -> Guarantee:
        """The guarantee of both runs together, on the same data."""
        for name in ("directions", "adjacency", "unit"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine != theirs:
                raise InvalidParameter(name, f"the same in both guarantees ({mine!r})", theirs)
        method = self.method if self.method == other.method else f"{self.method} + {other.method}"
        kind = max((self.kind, other.kind), key=KINDS.index)
        analysis = Analysis(
            method=method,
            kind=kind,
            source=self.profile.compose(other.profile),
            tight=self.analyses[0].tight and other.analyses[0].tight,
        )
        return replace(
            self,
            analyses=(analysis,),
            accuracy=min(self.accuracy, other.accuracy),
            plans=self.plans + other.plans,
            note=FAILURES_ADD_UP if kind == "confidence" else None,
            reserve=tuple,
        )

    def __repr__(self) -> str:
        names = ", ".join(analysis.method for analysis in self.analyses)
        return f"Guarantee(method={names!r}, kind={self.kind!r}, unit={self.unit!r})"

    def _best_epsilon(self, delta: float) -> Answer:
        return self._best(
            lambda source: source.epsilon_bounds(
                delta, directions=self.directions, accuracy=self.accuracy
            ),
            lambda value: Point(value, delta),
        )

    def _best_delta(self, epsilon: float) -> Answer:
        return self._best(
            lambda source: source.delta_bounds(
                epsilon, directions=self.directions, accuracy=self.accuracy
            ),
            lambda value: Point(epsilon, value),
        )

    def _explained(self, answer: Answer, *, delta: float | None, epsilon: float | None) -> Answer:
        """With what its analysis says about it, and a bound from below if one is known."""
        if answer.lower is None:
            known = [
                one.below(delta=delta, epsilon=epsilon, directions=self.directions)
                for one in self.analyses
                if one.below is not None
            ]
            answer = answer._replace(lower=min(max(known), answer.value) if known else None)
        known_by_name = (*self.analyses, *self._reserve)
        analysis = next(one for one in known_by_name if one.method == answer.method)
        found: dict[str, object] = {}
        if analysis.explain is not None:
            found |= analysis.explain(delta=delta, epsilon=epsilon, directions=self.directions)
        if self.note is not None:
            found["note"] = self.note
        return answer._replace(details=found) if found else answer

    def _best(self, ask: Callable[[Source], Bounds], point: Callable[[float], Point]) -> Answer:
        """The smallest answer; an exact analysis needs no second opinion unless it fails.

        One that fails still contributes the upper bound that it reached, if another one answers;
        then those in reserve are asked as well. Nothing is better than 0.
        """
        answers: list[Answer] = []
        failures: list[PrecisionError] = []

        def collect(analyses: Sequence[Analysis]) -> None:
            for analysis in analyses:
                reached = point(min(answer.value for answer in answers)) if answers else None
                try:
                    if reached is not None and _hopeless(analysis, reached, self.directions):
                        continue
                    bounds = ask(analysis.source)
                except PrecisionError as error:
                    failures.append(error)
                    bounds = Bounds(error.lower, error.upper)
                lower = bounds.lower if analysis.tight else None
                answers.append(Answer(bounds.upper, lower, analysis.method, analysis.kind))
                if (analysis.tight and not failures) or bounds.upper == 0:
                    break

        collect(self.analyses)
        if failures and min(answer.value for answer in answers) > 0:
            collect(self._reserve)
        if len(failures) == len(answers):
            raise failures[0]
        return min(answers, key=lambda answer: answer.value)

    @cached_property
    def _reserve(self) -> tuple[Analysis, ...]:
        return tuple(self.reserve())


def _hopeless(analysis: Analysis, point: Point, directions: Sequence[Direction]) -> bool:
    """Whether the analysis is far from a point (epsilon, delta) that another one has proved."""
    if analysis.preview is None or not 0 < point.delta < 1:
        return False
    rough = analysis.preview(point.delta, directions)
    return rough > FAR_OFF * max(point.epsilon, SMALLEST_EPSILON)


def directions_for(direction: str) -> tuple[Direction, ...]:
    """The directions that a user's choice stands for."""
    choices: dict[str, tuple[Direction, ...]] = {
        "both": BOTH,
        "remove": ("remove",),
        "add": ("add",),
    }
    return choices[check.choice("direction", direction, choices, "'both', 'remove' or 'add'")]
