"""What a profile is computed from: a lazy description of a pair (P, Q).

An expression can be evaluated at any resolution and on either side, so a profile can be refined
until upper and lower bounds agree, and never has to fix a grid in advance.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from hockeystick._numerics.law import FloatArray, Law, Resolution, Side
from hockeystick._numerics.law import reverse as reverse_law
from hockeystick._numerics.moments import MomentNodes, PowerMoments, moments_of_law, nodes_of_law
from hockeystick.profile.convolution import compress

__all__ = ["Expression", "Factor", "Reversed"]

# Operands of many-fold operations that are known in closed form are discretised this much finer
# than the result, and then put on a grid of their own: that costs little, and their own
# discretisation error becomes negligible.
OPERAND_REFINEMENT = 4.0


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

    def operand_law(self, side: Side, resolution: Resolution) -> Law:
        """The law of an operand, ready to be multiplied or averaged many times."""
        if self.levels() > 0:
            return self.law(side, resolution)
        half = resolution.scaled(tail=0.5)
        return compress(self.law(side, half.scaled(step=1 / OPERAND_REFINEMENT)), half, side)

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

    def moment_nodes(
        self, orders: FloatArray, *, reverse: bool, resolution: Resolution
    ) -> MomentNodes:
        """The same at real orders from 1 on, from the upper law, all of one pair."""
        law = self.law(Side.UPPER, resolution)
        return nodes_of_law(reverse_law(law) if reverse else law, orders)

    def gaussian_mu(self) -> float:
        """A mu such that N(mu, 1) against N(0, 1) dominates the pair; infinite if none is known.

        Numerical laws with unbounded losses have their far tails cut, so they can never show that a
        Gaussian dominates; the structure of the pair can. Domination by a Gaussian survives
        composition (squares add) and reversal (the Gaussian pair is symmetric), and a mixture of
        pairs with one common Q is dominated by the worst of them, because the hockey-stick
        divergence is convex: so sampling never needs a larger mu.
        """
        return math.inf

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

    def above(self, other: Expression) -> bool:
        """Whether it is known to dominate a member of its family."""
        return self.order() >= other.order()

    def subsample(self, rate: float) -> Expression:
        """The pair ((1 - rate) Q + rate P, Q)."""
        from hockeystick.profile.expressions.sampled import Subsampled

        return self if rate == 1.0 else Subsampled(self, rate)

    def allocate(self, steps: int) -> Expression:
        """The pair (average over i of Q x .. P_i .. x Q, Q x .. x Q)."""
        from hockeystick.profile.expressions.sampled import Allocated

        return self if steps == 1 else Allocated(self, steps)

    def condition(self, rate: float) -> Expression:
        """The pair that becomes this one when it is subsampled at the rate."""
        from hockeystick.profile.expressions.sampled import Conditioned

        return self if rate == 1.0 else Conditioned(self, rate)

    def sampled(self) -> Expression:
        """The pair on which sampling acts: before a reversal."""
        return self

    def reverse(self) -> Expression:
        """The pair (Q, P)."""
        return Reversed(self)


Factor = tuple[Expression, int]


@dataclass(frozen=True)
class Reversed(Expression):
    """(Q, P). Subsampling and allocation act on (P, Q) first: only then do they mean sampling."""

    child: Expression

    @property
    def lower_composes(self) -> bool:
        """As for the child."""
        return self.child.lower_composes

    @property
    def closed_form_error(self) -> float:
        """That of the child."""
        return self.child.closed_form_error

    @property
    def argument_error(self) -> float:
        """That of the child."""
        return self.child.argument_error

    def law(self, side: Side, resolution: Resolution) -> Law:
        """Atoms mirrored; convex order is symmetric, so the side stays."""
        return reverse_law(self.child.law(side, resolution))

    def largest_loss(self, *, reverse: bool) -> float:
        """The other direction of the child."""
        return self.child.largest_loss(reverse=not reverse)

    def power_moments(self, largest: int, *, reverse: bool, resolution: Resolution) -> PowerMoments:
        """The other direction of the child."""
        return self.child.power_moments(largest, reverse=not reverse, resolution=resolution)

    def moment_nodes(
        self, orders: FloatArray, *, reverse: bool, resolution: Resolution
    ) -> MomentNodes:
        """Those of the child, in the other direction."""
        return self.child.moment_nodes(orders, reverse=not reverse, resolution=resolution)

    def gaussian_mu(self) -> float:
        """That of the child: Gaussians are symmetric."""
        return self.child.gaussian_mu()

    def levels(self) -> int:
        """No rounding of its own."""
        return self.child.levels()

    def closed_form(self, epsilon: float, *, reverse: bool) -> float | None:
        """The other direction of the child."""
        return self.child.closed_form(epsilon, reverse=not reverse)

    def subsample(self, rate: float) -> Expression:
        """Sample, then exchange."""
        return self.child.subsample(rate).reverse()

    def allocate(self, steps: int) -> Expression:
        """Allocate, then exchange."""
        return self.child.allocate(steps).reverse()

    def condition(self, rate: float) -> Expression:
        """Condition, then exchange."""
        return self.child.condition(rate).reverse()

    def sampled(self) -> Expression:
        """The child."""
        return self.child

    def reverse(self) -> Expression:
        """Back to the child."""
        return self.child
