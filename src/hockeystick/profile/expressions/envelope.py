"""The pointwise maximum of two profiles, and the convex envelope of their minimum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hockeystick._numerics.envelope import ALIGN, maximum, minimum
from hockeystick._numerics.law import Law, Resolution, Side, from_losses
from hockeystick._numerics.rounding import spread_outwards
from hockeystick.profile.expressions.base import Expression

__all__ = ["Maximum", "Minimum"]


def _outwards(law: Law, side: Side) -> Law:
    """Losses moved away from 0 (upper) or towards it (lower) by what aligning may have cost."""
    if side is Side.UPPER:
        return spread_outwards(law, law.loss * (1 + 2 * ALIGN))
    main = np.where(law.loss >= 0, law.p, law.q)
    inwards = law.loss * (1 - 2 * ALIGN)
    return from_losses(inwards, main, p_infinite=law.p_infinite, q_zero=law.q_zero)


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

    @property
    def argument_error(self) -> float:
        """The larger of the two."""
        return max(self.first.argument_error, self.second.argument_error)

    def law(self, side: Side, resolution: Resolution) -> Law:
        """From the laws of both members."""
        law = maximum(self.first.law(side, resolution), self.second.law(side, resolution))
        return _outwards(law, side)

    def covers(self, other: Expression) -> bool:
        """Whatever one of the members covers."""
        return self == other or self.first.covers(other) or self.second.covers(other)

    def gaussian_mu(self) -> float:
        """The larger one."""
        return max(self.first.gaussian_mu(), self.second.gaussian_mu())

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
        law = minimum(self.first.law(side, resolution), self.second.law(side, resolution))
        return _outwards(law, side)

    def gaussian_mu(self) -> float:
        """The smaller one: both are bounds."""
        return min(self.first.gaussian_mu(), self.second.gaussian_mu())

    def levels(self) -> int:
        """Of the deeper member."""
        return max(self.first.levels(), self.second.levels())
