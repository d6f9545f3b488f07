"""Numbers that are read off the answers to one case.

A quantity names the participants it needs and, given the answers of all of them and how timings of
the case become one number, gives a float.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from cases import US

Answers = dict[str, dict]
Typical = Callable[[Sequence[float]], float]


class Quantity(Protocol):
    """What a promise is about."""

    @property
    def needs(self) -> tuple[str, ...]:
        """Whose answers it is read off."""

    def __call__(self, answers: Answers, typical: Typical) -> float:
        """The number."""


@dataclass(frozen=True)
class OfOne:
    """A quantity of one participant."""

    who: str = US

    @property
    def needs(self) -> tuple[str, ...]:
        """The one."""
        return (self.who,)


@dataclass(frozen=True)
class AgainstPeer:
    """A quantity of ours and of a peer."""

    peer: str

    @property
    def needs(self) -> tuple[str, ...]:
        """Both."""
        return (US, self.peer)


class Speed(AgainstPeer):
    """How many of our answers fit into one of the peer's."""

    def __call__(self, answers: Answers, typical: Typical) -> float:
        """Their time over ours."""
        return typical(answers[self.peer]["seconds"]) / typical(answers[US]["seconds"])


class Difference(AgainstPeer):
    """The largest relative difference of the values."""

    def __call__(self, answers: Answers, typical: Typical) -> float:
        """|ours / theirs - 1|."""
        pairs = zip(answers[US]["values"], answers[self.peer]["values"], strict=True)
        return max(abs(ours / theirs - 1) for ours, theirs in pairs)


class OutsidePeer(AgainstPeer):
    """How far our upper bound lies outside of the peer's bounds, relatively; 0 inside."""

    def __call__(self, answers: Answers, typical: Typical) -> float:
        """A distance."""
        peer = answers[self.peer]
        return _outside(answers[US]["upper"], peer["lower"], peer["upper"])


class Seconds(OfOne):
    """The time of a warm call."""

    def __call__(self, answers: Answers, typical: Typical) -> float:
        """Seconds."""
        return typical(answers[self.who]["seconds"])


class Memory(OfOne):
    """The largest resident memory."""

    def __call__(self, answers: Answers, typical: Typical) -> float:
        """MiB."""
        return answers[self.who]["peak_mb"]


class Width(OfOne):
    """The upper bound over the lower one."""

    def __call__(self, answers: Answers, typical: Typical) -> float:
        """At least 1."""
        return answers[self.who]["upper"] / answers[self.who]["lower"]


class Answer(OfOne):
    """The answer itself."""

    def __call__(self, answers: Answers, typical: Typical) -> float:
        """As given."""
        return answers[self.who]["upper"]


@dataclass(frozen=True)
class Value:
    """One of several values."""

    index: int
    who: str = US

    @property
    def needs(self) -> tuple[str, ...]:
        """The one who gave them."""
        return (self.who,)

    def __call__(self, answers: Answers, typical: Typical) -> float:
        """As given."""
        return answers[self.who]["values"][self.index]


@dataclass(frozen=True)
class Quotient:
    """One of our values over another."""

    above: int
    below: int
    needs: tuple[str, ...] = (US,)

    def __call__(self, answers: Answers, typical: Typical) -> float:
        """Their quotient."""
        values = answers[US]["values"]
        return values[self.above] / values[self.below]


@dataclass(frozen=True)
class Outside:
    """How far our bounds lie outside of an interval, relatively; 0 inside."""

    low: float
    high: float
    needs: tuple[str, ...] = (US,)

    def __call__(self, answers: Answers, typical: Typical) -> float:
        """The worse of both."""
        bounds = (answers[US]["lower"], answers[US]["upper"])
        return max(_outside(bound, self.low, self.high) for bound in bounds)


@dataclass(frozen=True)
class Distance:
    """The largest relative distance of our values from expected ones."""

    expected: tuple[float, ...]
    needs: tuple[str, ...] = (US,)

    def __call__(self, answers: Answers, typical: Typical) -> float:
        """|value / expected - 1|."""
        pairs = zip(answers[US]["values"], self.expected, strict=True)
        return max(abs(value / expected - 1) for value, expected in pairs)


@dataclass(frozen=True)
class Exceeding:
    """Our values over what they may be: the worst."""

    allowed: tuple[float, ...]
    needs: tuple[str, ...] = (US,)

    def __call__(self, answers: Answers, typical: Typical) -> float:
        """value / allowed."""
        pairs = zip(answers[US]["values"], self.allowed, strict=True)
        return max(value / allowed for value, allowed in pairs)


def _outside(value: float, low: float, high: float) -> float:
    return max(low / value - 1, value / high - 1, 0.0)
