"""Sums of charges without rounding errors.

Charges are rounded up to multiples of the last place of the budget, ulp(budget). All sums up to
the budget, and all differences from it, are then exact in double precision, in any order. A charge
grows by less than 2^-52 of the budget: a hundred thousand of them by less than 3e-11.
"""

from __future__ import annotations

import math
import sys

from hockeystick import _validate as check
from hockeystick.errors import BudgetExceeded, InvalidParameter

__all__ = ["admit", "checked_budget", "rounded_up"]


def checked_budget(budget: float) -> float:
    """A budget: finite, positive and not so small that numbers lose digits."""
    budget = check.positive("budget", budget)
    if budget < sys.float_info.min / sys.float_info.epsilon:
        raise InvalidParameter("budget", "a finite number > 1e-291", budget)
    return budget


def rounded_up(charge: float, *, budget: float) -> float:
    """The smallest multiple of ulp(budget) that is not below the charge, for a finite budget.

    Dividing by a power of two is exact, apart from underflow to zero, which the comparison catches.
    """
    place = math.ulp(budget)
    multiple = math.ceil(charge / place)
    return max(multiple, 1 if charge > 0 else 0) * place


def admit(charge: float, *, spent: float, budget: float) -> float:
    """The charge, rounded up, if it still fits into the budget; `BudgetExceeded` otherwise."""
    charge = check.real("charge", charge, "a number >= 0")
    if charge < 0:
        raise InvalidParameter("charge", "a number >= 0", charge)
    # Both sides are multiples of ulp(budget): the difference and the comparison are exact.
    left = budget - spent
    if charge <= left:
        return rounded_up(charge, budget=budget)
    raise BudgetExceeded(
        f"The request costs {charge:.6g}, but only {left:.6g} of the budget {budget:.6g} is left."
    )
