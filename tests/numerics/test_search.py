"""Searches in one variable."""

from __future__ import annotations

import math

import pytest

from hockeystick._numerics.search import (
    bracket,
    minimize_around_grid,
    minimize_on_interval,
    smallest_argument,
)


@pytest.mark.parametrize("edge", [1e-9, 0.3, 7.0, 1e12])
def test_smallest_argument_brackets_the_edge(edge):
    """One side fails, the other holds, and they are neighbours."""
    fails, holds = smallest_argument(lambda x: x >= edge)
    assert fails < edge <= holds
    assert holds - fails <= 1e-12 * holds


def test_ends_of_the_range():
    """Zero if it holds there, infinite if it holds nowhere."""
    assert smallest_argument(lambda x: True) == (0.0, 0.0)
    assert smallest_argument(lambda x: False)[1] == math.inf


def test_bracket_works_downwards_too():
    """The condition may hold on the left."""
    fails, holds = bracket(lambda x: x <= 0.2, 1.0, 0.0)
    assert holds <= 0.2 < fails
    assert fails - holds < 1e-12
    assert bracket(lambda x: True, 1.0, 1.0) == (1.0, 1.0)


def test_minimum_of_a_function_that_is_partly_infinite():
    """Infinite values do not stop the search."""
    found = minimize_on_interval(lambda x: math.inf if x < 1 else (x - 2) ** 2, 0.0, 5.0)
    assert found == pytest.approx(2.0, abs=1e-4)


def test_a_grid_finds_the_valley_beside_a_plateau():
    """A search alone stays on the plateau."""

    def plateau(x):
        return (x - 8.7) ** 2 - 1 if x > 8 else 0.0

    found = minimize_around_grid(plateau, [0.0, 2.0, 4.0, 6.0, 8.5, 9.5], tolerance=1e-6)
    assert found == pytest.approx(8.7, abs=1e-3)
