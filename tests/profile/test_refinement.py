"""The evaluator does not take crossed bounds for accurate ones."""

from __future__ import annotations

import pytest

from hockeystick.errors import PrecisionError
from hockeystick.profile.expressions.mechanisms import GaussianPair
from hockeystick.profile.refinement import Bounds, Evaluator, Quantity


def question(lower, upper):
    """A question whose answer does not depend on the laws."""
    return Quantity(
        name="a number",
        read=lambda laws: Bounds(lower, upper),
        gap=lambda bounds: (bounds.upper - bounds.lower) / 1e-3,
        tail=1e-10,
        nats=24.0,
        accuracy=1e-3,
    )


def test_crossed_bounds_are_not_accurate():
    """A lower bound far above the upper one is refused, and the larger number is what is shown."""
    with pytest.raises(PrecisionError) as caught:
        Evaluator(GaussianPair(1.0)).answer(question(2.0, 1.0))
    assert (caught.value.lower, caught.value.upper) == (1.0, 2.0)


def test_bounds_that_cross_by_rounding_give_the_larger():
    """Within the accuracy the larger of the two is the upper bound."""
    assert Evaluator(GaussianPair(1.0)).answer(question(1.0 + 1e-9, 1.0)).upper == 1.0 + 1e-9
