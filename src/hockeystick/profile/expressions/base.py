"""What a profile is computed from: a lazy description of a pair (P, Q).

An expression can be evaluated at any resolution and on either side, so a profile can be refined
until upper and lower bounds agree, and never has to fix a grid in advance.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

from hockeystick._numerics.law import Law, Resolution, Side
from hockeystick._numerics.law import reverse as reverse_law
from hockeystick._numerics.moments import PowerMoments, moments_of_law

__all__ = ["Expression", "Factor"]


class Expression(ABC):
    """A pair of distributions, known through the law of its likelihood ratio.

    `family` names expressions whose products stay in the family; see `fuse`.
    """

    family: str | None = None

    @property
    def closed_form_error(self) -> float:
        """Relative error of the closed form in floating point."""
        return 0.0

    @property
    def argument_error(self) -> float:
        """Relative error of epsilon in the closed form, where rounding it matters."""
        return 0.0

    @property
    def lower_composes(self) -> bool:
        """Whether the lower side may be composed further; see `envelope.py` for when it may not."""
        return True

    @abstractmethod
    def law(self, side: Side, resolution: Resolution) -> Law:
        """The law on the given side at the given resolution."""

    def levels(self) -> int:
        """How many roundings the law goes through; used to choose the first resolution."""
        return 0

    def closed_form(self, epsilon: float, *, reverse: bool) -> float | None:
        """H(P || Q) at e^epsilon, or H(Q || P) if `reverse`, where a formula exists."""
        return None

    def largest_loss(self, *, reverse: bool) -> float:
        """A loss that is never exceeded, infinite if none is known: beyond it delta is 0.

        The loss is log dP/dQ, or log dQ/dP if `reverse`.
        """
        return math.inf

    def power_moments(self, largest: int, *, reverse: bool, resolution: Resolution) -> PowerMoments:
        """Upper bounds on E_Q[LR^m], or E_P[LR^-m] if `reverse`, for the orders m up to `largest`.

        Both are convex functions of LR (and of 1/LR), so the upper law bounds them; where a formula
        exists it is used instead.
        """
        law = self.law(Side.UPPER, resolution)
        return moments_of_law(reverse_law(law) if reverse else law, largest)

    def factors(self) -> Sequence[Factor]:
        """The expression as a product of powers."""
        return ((self, 1),)

    def fuse(self, factors: Sequence[Factor]) -> Expression:
        """The product of powers of members of this expression's family."""
        raise TypeError(f"{type(self).__name__} belongs to no family.")

    def covers(self, other: Expression) -> bool:
        """Whether this pair dominates the other by construction."""
        return self == other

    def order(self) -> float:
        """A number by which members of one family are ordered: larger dominates."""
        raise TypeError(f"{type(self).__name__} belongs to no family.")

    def subsample(self, rate: float) -> Expression:
        """The pair ((1 - rate) Q + rate P, Q)."""
        from hockeystick.profile.expressions.subsampled import Subsampled

        return self if rate == 1.0 else Subsampled(self, rate)

    def allocate(self, steps: int) -> Expression:
        """The pair (average over i of Q x .. P_i .. x Q, Q x .. x Q)."""
        from hockeystick.profile.expressions.allocated import Allocated

        return self if steps == 1 else Allocated(self, steps)

    def condition(self, rate: float) -> Expression:
        """The pair that becomes this one when it is subsampled at the rate."""
        from hockeystick.profile.expressions.conditioned import Conditioned

        return self if rate == 1.0 else Conditioned(self, rate)

    def sampled(self) -> Expression:
        """The pair on which sampling acts: before a reversal."""
        return self

    def reverse(self) -> Expression:
        """The pair (Q, P)."""
        from hockeystick.profile.expressions.reversed import Reversed

        return Reversed(self)


Factor = tuple[Expression, int]
