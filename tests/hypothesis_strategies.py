"""Hypothesis strategies shared by the property tests, and how many examples they draw."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from hockeystick._numerics.law import FloatArray, Law, Resolution, Side
from hockeystick.profile.expressions.discrete import from_pmfs

__all__ = [
    "brief",
    "epsilons",
    "increasing",
    "law_of",
    "masses",
    "narrow_pairs",
    "pairs",
    "quick",
    "rates",
    "thinned",
    "thorough",
    "wild_pairs",
]

# `make test-long` sets HOCKEYSTICK_EXAMPLES: every property test draws so many times as many
# examples, other ones in every run. Without it the examples are the same in every run.
TIMES = int(os.environ.get("HOCKEYSTICK_EXAMPLES", "1"))


def examples(number: int) -> settings:
    """Settings of a property test that draws so many examples in `make test`."""
    return settings(
        max_examples=number * TIMES,
        deadline=None,
        derandomize=TIMES == 1,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


quick = examples(16)
brief = examples(8)
thorough = examples(60)


def thinned(cases: Iterable[Any], *, normal: int) -> list[Any]:
    """Parameters of a test, all but a few of which (evenly spread) are left to `make test-long`.

    A tuple holds the values of several parameters.
    """
    every = list(cases)
    kept = {round(k * (len(every) - 1) / max(normal - 1, 1)) for k in range(normal)}
    return [case if k in kept else _long(case) for k, case in enumerate(every)]


def _long(case: Any) -> Any:
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.long)


def law_of(pair: tuple[list[float], list[float]]) -> Law:
    """The law of a pair of probability vectors, without any rounding."""
    return from_pmfs(*pair).law(Side.UPPER, Resolution(0.1, 1e-10, 10.0))


def _normalised(weights: list[float]) -> list[float]:
    total = math.fsum(weights)
    return [weight / total for weight in weights]


@st.composite
def wild_pairs(draw: st.DrawFn, max_size: int = 5) -> tuple[list[float], list[float]]:
    """Two probability vectors with masses from 1e-60 to 1, some of them zero."""
    size = draw(st.integers(2, max_size))
    exponents = st.floats(-60, 0) | st.floats(-3, 0)
    weight = st.one_of(
        st.just(0.0), exponents.map(lambda e: 10.0**e), exponents.map(lambda e: 10.0**e)
    )
    vectors = []
    for _ in range(2):
        weights = draw(st.lists(weight, min_size=size, max_size=size))
        weights[draw(st.integers(0, size - 1))] = 1.0
        vectors.append(_normalised(weights))
    return vectors[0], vectors[1]


@st.composite
def narrow_pairs(draw: st.DrawFn, max_size: int = 5) -> tuple[list[float], list[float]]:
    """Two probability vectors that are nearly equal: losses from 1e-6 to 1."""
    size = draw(st.integers(2, max_size))
    spread = 10.0 ** draw(st.floats(-6, 0))
    q = _normalised(draw(st.lists(st.floats(0.05, 1.0), min_size=size, max_size=size)))
    tilt = draw(st.lists(st.floats(-1.0, 1.0), min_size=size, max_size=size))
    p = _normalised([mass * math.exp(spread * t) for mass, t in zip(q, tilt, strict=True)])
    return p, q


def pairs(max_size: int = 5) -> st.SearchStrategy[tuple[list[float], list[float]]]:
    """Any small discrete pair: infinite, huge, ordinary and tiny losses."""
    return wild_pairs(max_size) | narrow_pairs(max_size)


def epsilons() -> st.SearchStrategy[float]:
    """Orders of magnitude around one, both signs, and zero."""
    size = st.floats(-6, 2).map(lambda e: 10.0**e)
    return st.one_of(st.just(0.0), size, size.map(lambda e: -e))


def rates() -> st.SearchStrategy[float]:
    """Sampling rates over six orders of magnitude, one included."""
    return st.just(1.0) | st.floats(-6, -0.01).map(lambda e: float(np.power(10.0, e)))


@st.composite
def increasing(
    draw: st.DrawFn,
    low: float = -5.0,
    high: float = 5.0,
    min_size: int = 1,
    max_size: int = 8,
) -> FloatArray:
    """Distinct increasing floats."""
    values = st.integers(0, 10**6).map(lambda k: low + (high - low) * k / 10**6)
    drawn = draw(st.lists(values, min_size=min_size, max_size=max_size, unique=True))
    return np.sort(np.array(drawn))


@st.composite
def masses(draw: st.DrawFn, size: int) -> FloatArray:
    """Positive masses of very different size."""
    exponents = draw(st.lists(st.floats(-40, 0), min_size=size, max_size=size))
    return 10.0 ** np.array(exponents)
