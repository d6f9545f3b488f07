"""Poisson subsampling."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hockeystick._numerics.law import Law, Resolution, Side, subsample
from hockeystick._numerics.moments import PowerMoments, subsampled_moments
from hockeystick.expressions.base import Expression

__all__ = ["Subsampled"]

# What the argument of the closed form loses to floating point, relatively.
ARGUMENT_ROUNDING = 1e-15
# Beyond this e^x is not a number any more.
LARGEST_EXPONENT = 700.0


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
        return self.child.argument_error + ARGUMENT_ROUNDING

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
        if reverse:
            return -math.log1p(self.rate * math.expm1(-inner))
        return inner if inner > LARGEST_EXPONENT else math.log1p(self.rate * math.expm1(inner))

    def levels(self) -> int:
        """No rounding of its own."""
        return self.child.levels()

    def closed_form(self, epsilon: float, *, reverse: bool) -> float | None:
        """E(1 - r + r LR - g)+ = r E(LR - h)+ with h = 1 + (g - 1)/r, and likewise reversed."""
        if not reverse:
            shifted = math.expm1(epsilon) / self.rate if epsilon < 700 else math.inf
            if shifted <= -1:
                return -math.expm1(epsilon)
            inner = math.log1p(shifted) if math.isfinite(shifted) else epsilon - math.log(self.rate)
            value = self.child.closed_form(inner, reverse=False)
            return None if value is None else self.rate * value
        if epsilon < -700:
            # The factor e^epsilon (rate level) is 1 up to rounding.
            return self.child.closed_form(epsilon + math.log(self.rate), reverse=True)
        change = math.expm1(-epsilon) / self.rate
        if change <= -1:
            return 0.0 if self.child.closed_form(0.0, reverse=True) is not None else None
        value = self.child.closed_form(-math.log1p(change), reverse=True)
        return None if value is None else math.exp(epsilon) * self.rate * (1 + change) * value
