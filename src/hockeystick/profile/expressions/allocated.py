"""Random allocation: one of `steps` steps, uniformly."""

from __future__ import annotations

from dataclasses import dataclass

from hockeystick._numerics.law import Law, Resolution, Side
from hockeystick._numerics.moments import PowerMoments, allocated_moments
from hockeystick._numerics.powers import average_of_copies, rounding_levels
from hockeystick.profile.expressions.base import Expression
from hockeystick.profile.expressions.operand import operand_law

__all__ = ["Allocated"]


@dataclass(frozen=True)
class Allocated(Expression):
    """LR becomes the average of `steps` independent copies."""

    child: Expression
    steps: int

    @property
    def lower_composes(self) -> bool:
        """As for the child: averages keep convex order."""
        return self.child.lower_composes

    def law(self, side: Side, resolution: Resolution) -> Law:
        """O(log steps) pairwise averages of O(N^2)."""
        base = operand_law(self.child, side, resolution.scaled(tail=0.25))
        return average_of_copies(base, self.steps, resolution, side)

    def power_moments(self, largest: int, *, reverse: bool, resolution: Resolution) -> PowerMoments:
        """From the moments of one step, exactly; reversed, from the law of the average."""
        if reverse:
            return super().power_moments(largest, reverse=True, resolution=resolution)
        step = self.child.power_moments(largest, reverse=False, resolution=resolution)
        return allocated_moments(step, self.steps)

    def largest_loss(self, *, reverse: bool) -> float:
        """An average is between the extremes."""
        return self.child.largest_loss(reverse=reverse)

    def levels(self) -> int:
        """Of the child, and of the averages."""
        return self.child.levels() + 1 + rounding_levels(self.steps)
