"""Hooks for extensions refuse at once, in one sentence, what would go wrong later."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.errors import InvalidParameter, PlanMismatch
from hockeystick.schemes import SCHEMES, IndependentSampling, Indices, Run, Sampling


class Plain(Sampling):
    """A scheme whose class is no dataclass: all of its objects are equal."""

    name = "plain"

    def __init__(self, rate: float) -> None:
        object.__setattr__(self, "rate", rate)

    @classmethod
    def for_batch_size(cls, *args: Any, **options: Any) -> Self:
        """Any."""
        return cls(0.1)

    def expected_batch_size(self, examples: int) -> float:
        """One."""
        return 1.0

    def most_participations(self, steps: int) -> int:
        """All."""
        return steps

    def _draw(self, examples: int, steps: int, rng: np.random.Generator) -> Iterator[Indices]:
        yield from ()

    def independent_sampling(self, run: Run) -> IndependentSampling:
        """At the rate that equality ignores."""
        return IndependentSampling(self.rate, 1, False)  # type: ignore[attr-defined]


class PlainPoisson(hs.Poisson):
    """A subclass of a built-in scheme without a decorator of its own."""

    name: ClassVar[str] = "plain-poisson"


@dataclass(frozen=True, kw_only=True, eq=False)
class Identical(hs.Poisson):
    """Equality that is switched off is inherited."""

    name: ClassVar[str] = "identical"
    factor: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Uncompared(hs.Poisson):
    """A field that equality ignores."""

    name: ClassVar[str] = "uncompared"
    factor: float = field(default=1.0, compare=False)


@dataclass(frozen=True, kw_only=True)
class Drawing(hs.Poisson):
    """So many batches, whatever was asked for."""

    name: ClassVar[str] = "drawing"
    count: int = 3

    @cached_property
    def double(self) -> int:
        """Derived from fields, and therefore no part of the description."""
        return 2 * self.count

    def _draw(self, examples: int, steps: int, rng: np.random.Generator) -> Iterator[Indices]:
        for _ in range(self.count):
            yield np.arange(examples)


@pytest.mark.parametrize(
    "scheme",
    [Plain(0.5), PlainPoisson(rate=0.5), Identical(rate=0.5), Uncompared(rate=0.5)],
    ids=lambda scheme: scheme.name,
)
def test_schemes_that_equality_cannot_tell_apart(scheme: Sampling) -> None:
    """Plans are keys of caches: such a scheme would get the epsilon of another one."""
    with pytest.raises(InvalidParameter, match=r"@dataclass\(frozen=True, kw_only=True\)"):
        hs.Plan(sampling=scheme, steps=4)
    with pytest.raises(InvalidParameter, match=r"@dataclass\(frozen=True, kw_only=True\)"):
        hs.schemes.register(type(scheme))
    assert scheme.name not in SCHEMES


def test_attributes_that_are_no_fields() -> None:
    """They are not compared either; what is computed from fields may be kept."""
    scheme = Drawing(rate=0.5)
    assert scheme.double == 6
    hs.Plan(sampling=scheme, steps=3)
    object.__setattr__(scheme, "factor", 2.0)
    with pytest.raises(InvalidParameter, match="fields of Drawing, got 'factor'"):
        hs.Plan(sampling=scheme, steps=3)


@dataclass(frozen=True, kw_only=True)
class Numbered(hs.Poisson):
    """A name that is no text."""

    name: ClassVar[Any] = 5


@dataclass(frozen=True, kw_only=True)
class Abstract(Sampling):
    """Nothing is implemented."""

    name: ClassVar[str] = "abstract"


@pytest.mark.parametrize("wrong", [5, None, "poisson", int, hs.Poisson(rate=0.5), Numbered])
def test_what_is_no_scheme(wrong: Any) -> None:
    """Numbers, other classes, objects, and a scheme without a name in words."""
    before = dict(SCHEMES)
    with pytest.raises(InvalidParameter, match="scheme must be"):
        hs.schemes.register(wrong)
    assert before == SCHEMES


@pytest.mark.parametrize("wrong", [Abstract, Sampling])
def test_abstract_schemes(wrong: Any) -> None:
    """The sentence says what is missing."""
    with pytest.raises(InvalidParameter, match="implements _draw, expected_batch_size"):
        hs.schemes.register(wrong)


@pytest.mark.parametrize(("steps", "drawn"), [(2, "more than 2"), (4, "3")])
def test_schemes_that_draw_another_number_of_batches(steps: int, drawn: str) -> None:
    """No batch is handed out beyond the steps, and an end that is early is no end."""
    batches = Drawing(rate=0.5).batches(examples=2, steps=steps, rng=1)
    for _ in range(min(steps, 3)):
        next(batches)
    with pytest.raises(PlanMismatch, match=f"drew {drawn} batches for {steps} steps"):
        next(batches)


def test_the_end_of_the_batches_is_an_end() -> None:
    """As with every iterator, also when it is asked again."""
    batches = Drawing(rate=0.5).batches(examples=2, steps=3, rng=1)
    assert len(list(batches)) == 3
    assert list(batches) == []
