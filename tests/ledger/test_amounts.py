"""Charges are rounded up, and sums of them are exact."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hockeystick.errors import BudgetExceeded, InvalidParameter
from hockeystick.ledger.store import admit, checked_budget, rounded_up

BUDGETS = st.floats(1e-280, 1e300)
SHARES = st.floats(0, 1)


@given(budget=BUDGETS, share=SHARES)
def test_rounding_is_up_and_by_less_than_a_place(budget, share):
    """The charge grows by less than the budget's last place."""
    charge = share * budget
    rounded = rounded_up(charge, budget=budget)
    assert 0 <= Fraction(rounded) - Fraction(charge) < Fraction(math.ulp(budget))
    assert Fraction(rounded) % Fraction(math.ulp(budget)) == 0


@given(budget=BUDGETS, shares=st.lists(SHARES, max_size=30))
def test_sums_are_exact_and_within_the_budget(budget, shares):
    """Against fractions; what does not fit is refused exactly when it does not fit."""
    spent, exact = 0.0, Fraction(0)
    for share in shares:
        asked = share * budget
        if exact + Fraction(asked) > Fraction(budget):
            with pytest.raises(BudgetExceeded):
                admit(asked, spent=spent, budget=budget)
            continue
        charge = admit(asked, spent=spent, budget=budget)
        spent, exact = spent + charge, exact + Fraction(charge)
        assert Fraction(spent) == exact
        assert spent <= budget


@given(budget=BUDGETS, share=SHARES)
def test_the_rest_can_always_be_spent(budget, share):
    """Floating-point subtraction gives a charge that is admitted, and nothing is left."""
    spent = admit(share * budget, spent=0.0, budget=budget)
    assert spent + admit(budget - spent, spent=spent, budget=budget) == budget


def test_a_charge_that_underflows_is_counted():
    """A charge that vanishes next to the budget's last place still costs one place."""
    assert rounded_up(5e-324, budget=1e300) == math.ulp(1e300)


@pytest.mark.parametrize("charge", [math.nan, -1.0, "1", None])
def test_charges_that_are_none(charge):
    """Only numbers from zero upwards are charges."""
    with pytest.raises(InvalidParameter, match="charge must be a number >= 0"):
        admit(charge, spent=0.0, budget=1.0)


def test_an_infinite_charge_is_too_much():
    """A request of infinite cost is refused as too expensive, not as malformed."""
    with pytest.raises(BudgetExceeded, match="only 1 of the budget 1 is left"):
        admit(math.inf, spent=0.0, budget=1.0)


@pytest.mark.parametrize("budget", [0.0, -1.0, math.nan, math.inf, 1e-300])
def test_budgets_that_are_none(budget):
    """Finite, positive, and not in the range where digits are lost."""
    with pytest.raises(InvalidParameter, match="budget must be a finite number"):
        checked_budget(budget)
