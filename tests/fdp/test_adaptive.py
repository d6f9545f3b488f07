"""Adaptive composition of two stages, and Example 3.3."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hockeystick.errors import InvalidParameter
from hockeystick.fdp import (
    FirstStage,
    adaptive_height,
    adaptive_tradeoff,
    from_pmfs,
    gdp,
    greatest_lower_bound,
    worst_selection,
)
from hypothesis_strategies import pairs, quick

GAMMA = np.concatenate((np.linspace(0.0, 3.0, 61), [10.0]))
Pair = tuple[list[float], list[float]]


def joint(first: Pair, seconds: list[Pair], choice: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Masses of all pairs of outcomes, enumerated."""
    masses = []
    for side in (0, 1):
        parts = [
            mass * np.array(seconds[k][side]) for mass, k in zip(first[side], choice, strict=True)
        ]
        masses.append(np.concatenate(parts))
    return masses[0], masses[1]


@given(data=st.data(), first=pairs(4), one=pairs(3), other=pairs(3))
@quick
def test_heights_are_those_of_the_enumerated_pair(
    data: st.DataObject, first: Pair, one: Pair, other: Pair
) -> None:
    """H_adapt from profiles, and from the joint law, equals the sum over all outcomes."""
    size = len(first[0])
    choice = data.draw(st.lists(st.integers(0, 1), min_size=size, max_size=size))
    p, q = joint(first, [one, other], choice)
    expected = np.maximum(p - np.multiply.outer(GAMMA, q), 0.0).sum(axis=1)
    stage = FirstStage.discrete(*first)
    seconds = [from_pmfs(*one), from_pmfs(*other)]
    curves = [second.curve() for second in seconds]
    assert adaptive_height(stage, curves, choice=choice, gamma=GAMMA) == pytest.approx(
        expected, abs=1e-12
    )
    whole = adaptive_tradeoff(stage, seconds, choice=choice)
    assert whole.curve()(GAMMA) == pytest.approx(expected, abs=1e-12)
    assert whole.bound == "exact"


@given(first=pairs(4), one=pairs(3), other=pairs(3), gamma=st.floats(0.1, 4.0))
@quick
def test_no_rule_is_worse_than_the_worst(first: Pair, one: Pair, other: Pair, gamma: float) -> None:
    """Against all rules; and it attains the bound with the envelope of the second mechanisms."""
    stage = FirstStage.discrete(*first)
    seconds = [from_pmfs(*one), from_pmfs(*other)]
    curves = [second.curve() for second in seconds]
    worst = worst_selection(stage, curves, gamma=gamma)
    rules = itertools.product((0, 1), repeat=len(first[0]))
    heights = [adaptive_height(stage, curves, choice=c, gamma=gamma) for c in rules]
    assert worst.height == pytest.approx(max(heights), abs=1e-12)
    assert worst.budget == pytest.approx(max(heights[0], heights[-1]), abs=1e-12)
    bound = from_pmfs(*first).tensor(greatest_lower_bound(seconds)).curve()(gamma)
    assert worst.height == pytest.approx(bound, abs=1e-12)
    chosen = adaptive_height(stage, curves, choice=worst.choice, gamma=gamma)
    assert chosen == pytest.approx(worst.height, abs=1e-12)


def test_a_gaussian_first_stage_by_quadrature() -> None:
    """Followed by a Gaussian whatever happens, it is the Gaussian with the added square."""
    stage = FirstStage.from_densities(
        lambda y: np.exp(-((y - 0.6) ** 2) / 2) / np.sqrt(2 * np.pi),
        lambda y: np.exp(-(y**2) / 2) / np.sqrt(2 * np.pi),
        edges=np.linspace(-9, 10, 39),
    )
    assert stage.bound == "estimate"
    found = adaptive_height(
        stage, [gdp(0.8).height], choice=lambda y: np.zeros(y.size), gamma=GAMMA
    )
    assert found == pytest.approx(gdp(1.0).height(GAMMA), abs=1e-10)


@pytest.mark.parametrize("choice", [[0], [0, 2], [0, 0.5], [0, np.nan]])
def test_choices_are_checked(choice: list[float]) -> None:
    """One index of a second mechanism for each outcome."""
    stage = FirstStage.discrete([0.5, 0.5], [0.4, 0.6])
    with pytest.raises(InvalidParameter, match="choice"):
        adaptive_height(stage, [gdp(1).height, gdp(2).height], choice=choice, gamma=1.0)
