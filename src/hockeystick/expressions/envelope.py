"""The pointwise maximum of two profiles, and the convex envelope of their minimum."""

from __future__ import annotations

from dataclasses import dataclass

from hockeystick._numerics.envelope import maximum, minimum
from hockeystick._numerics.law import Law, Resolution, Side
from hockeystick.expressions.base import Expression

__all__ = ["Maximum", "Minimum"]


@dataclass(frozen=True)
class Maximum(Expression):
    """A pair that dominates both members: for the worse of two mechanisms.

    Its lower side bounds the maximum of the two profiles, but a composition of maxima can exceed
    the maximum of the compositions, so the lower side must not be composed.
    """

    first: Expression
    second: Expression

    @property
    def lower_composes(self) -> bool:
        """No: take maxima last."""
        return False

    @property
    def closed_form_error(self) -> float:
        """The larger one."""
        return max(self.first.closed_form_error, self.second.closed_form_error)

    def law(self, side: Side, resolution: Resolution) -> Law:
        """From the laws of both members."""
        return maximum(self.first.law(side, resolution), self.second.law(side, resolution))

    def levels(self) -> int:
        """Of the deeper member."""
        return max(self.first.levels(), self.second.levels())

    def closed_form(self, epsilon: float, *, reverse: bool) -> float | None:
        """The larger one, where both have a formula."""
        values = [m.closed_form(epsilon, reverse=reverse) for m in (self.first, self.second)]
        known = [value for value in values if value is not None]
        return max(known) if len(known) == 2 else None


@dataclass(frozen=True)
class Minimum(Expression):
    """The best of two bounds on the same mechanism: the largest convex function below both."""

    first: Expression
    second: Expression

    @property
    def lower_composes(self) -> bool:
        """If it does for both members."""
        return self.first.lower_composes and self.second.lower_composes

    def law(self, side: Side, resolution: Resolution) -> Law:
        """From the laws of both members."""
        return minimum(self.first.law(side, resolution), self.second.law(side, resolution))

    def levels(self) -> int:
        """Of the deeper member."""
        return max(self.first.levels(), self.second.levels())
