"""Reading numbers off a law."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hockeystick._numerics.divergence import (
    delta_from_law,
    epsilon_from_law,
    guard,
    tradeoff_from_law,
)
from hockeystick._numerics.law import Law, Side, reverse
from hypothesis_strategies import epsilons, law_of, pairs, quick
from references import outcomes as plain
from references.laws import measure


@quick
@given(pair=pairs(), epsilon=epsilons())
def test_delta_is_the_sum_of_positive_parts(pair, epsilon):
    """Both directions, at any epsilon, with relative accuracy."""
    law = law_of(pair)
    for one, other in ((law, measure(law)), (reverse(law), plain.reverse(measure(law)))):
        value = plain.hockey_stick(other, epsilon)
        assert delta_from_law(one, epsilon) == pytest.approx(float(value), rel=1e-11, abs=1e-290)


@quick
@given(pair=pairs(), delta=st.floats(-60, -0.01).map(lambda e: 10.0**e))
def test_epsilon_inverts_delta(pair, delta):
    """The closed form on a segment agrees with bisection on the enumeration."""
    law = law_of(pair)
    got = epsilon_from_law(law, delta)
    if math.isinf(got):
        assert law.p_infinite > delta
        return
    # The profile may be flat: compare its values, not the arguments.
    move = 1e-11 * max(got, 1e-3)
    assert plain.hockey_stick(measure(law), got + move) <= delta * (1 + 1e-9)
    assert got == 0 or plain.hockey_stick(measure(law), got - move) >= delta * (1 - 1e-9)


def test_epsilon_is_infinite_only_for_mass_at_infinity():
    """A finite law has a finite epsilon for every delta."""
    law = Law(np.array([-2.0, 50.0]), np.array([0.2, 0.7]), np.array([1.0, 1e-22]), 0.1, 0.0)
    assert epsilon_from_law(law, 0.0999) == math.inf
    assert epsilon_from_law(law, 0.1001) == pytest.approx(50.0, rel=1e-3)


@quick
@given(pair=pairs(max_size=4), alpha=st.floats(0, 1))
def test_tradeoff_is_the_best_test(pair, alpha):
    """Neyman and Pearson against the best mixture of any two events."""
    got = float(tradeoff_from_law(law_of(pair), np.array([alpha]))[0])
    best = float(plain.most_powerful(plain.outcomes(*pair), alpha))
    assert got == pytest.approx(best, rel=1e-9, abs=1e-14)


def test_guard_moves_outwards():
    """Upper bounds grow and lower bounds shrink, by the same relative amount."""
    assert guard(0.5, Side.LOWER) < 0.5 < guard(0.5, Side.UPPER)
    assert guard(0.5, Side.LOWER) + guard(0.5, Side.UPPER) == pytest.approx(1.0, rel=1e-12)
