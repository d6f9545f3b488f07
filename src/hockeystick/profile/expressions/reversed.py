"""The pair with its two distributions exchanged."""

from __future__ import annotations

from dataclasses import dataclass

from hockeystick._numerics.law import Law, Resolution, Side
from hockeystick._numerics.law import reverse as reverse_law
from hockeystick._numerics.moments import PowerMoments
from hockeystick.profile.expressions.base import Expression

__all__ = ["Reversed"]


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
