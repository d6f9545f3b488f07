"""Poisson subsampling."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hockeystick._numerics.law import Law, Resolution, Side, subsample
from hockeystick._numerics.mixed_ratio import argument_growth, mixed_loss, unmixed_loss
from hockeystick._numerics.moments import PowerMoments, subsampled_moments
from hockeystick.profile.expressions.base import Expression

__all__ = ["Subsampled"]

# What the argument of the closed form loses to floating point, relatively.
ARGUMENT_ROUNDING = 1e-15
# Below this e^epsilon is 0 beside 1.
SMALLEST_EPSILON = -700.0


@dataclass(frozen=True)
class Subsampled(Expression):
    """((1 - rate) Q + rate P, Q): LR becomes 1 - rate + rate LR."""

    child: Expression
    rate: float

    @property
    def lower_composes(self) -> bool:
        """As for the child: the map of LR is affine."""
        return self.child.lower_composes

    @property
    def closed_form_error(self) -> float:
        """That of the child."""
        return self.child.closed_form_error + 1e-12

    @property
    def argument_error(self) -> float:
        """That of the child, and of the ends of the loss, next to which all digits of it count."""
        return (self.child.argument_error + ARGUMENT_ROUNDING) * argument_growth(self.rate)

    def law(self, side: Side, resolution: Resolution) -> Law:
        """Atom by atom, exact; the child's right tail may be cut later by the factor 1/rate."""
        return subsample(self.child.law(side, resolution), self.rate)

    def power_moments(self, largest: int, *, reverse: bool, resolution: Resolution) -> PowerMoments:
        """By the binomial theorem from the child's; reversed, from the law."""
        if reverse:
            return super().power_moments(largest, reverse=True, resolution=resolution)
        child = self.child.power_moments(largest, reverse=False, resolution=resolution)
        return subsampled_moments(child, self.rate)

    def largest_loss(self, *, reverse: bool) -> float:
        """LR is at least 1 - rate + rate e^-l where the child's reversed loss is at most l."""
        inner = self.child.largest_loss(reverse=reverse)
        return -mixed_loss(self.rate, -inner) if reverse else mixed_loss(self.rate, inner)

    def levels(self) -> int:
        """No rounding of its own."""
        return self.child.levels()

    def closed_form(self, epsilon: float, *, reverse: bool) -> float | None:
        """E(1 - r + r LR - g)+ = r E(LR - h)+ with h = 1 + (g - 1)/r, and likewise reversed."""
        if not reverse:
            inner = unmixed_loss(self.rate, epsilon)
            if inner == -math.inf:
                return -math.expm1(epsilon)
            value = self.child.closed_form(inner, reverse=False)
            return None if value is None else self.rate * value
        if epsilon < SMALLEST_EPSILON:
            # The factor e^epsilon r h is 1 up to rounding.
            return self.child.closed_form(epsilon + math.log(self.rate), reverse=True)
        log_level = unmixed_loss(self.rate, -epsilon)
        if log_level == -math.inf:
            return 0.0 if self.child.closed_form(0.0, reverse=True) is not None else None
        value = self.child.closed_form(-log_level, reverse=True)
        return None if value is None else math.exp(epsilon + log_level) * self.rate * value
