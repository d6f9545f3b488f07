"""Poisson subsampling undone: given that the example takes part."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hockeystick._numerics.law import Law, Resolution, Side, condition
from hockeystick._numerics.outwards import spread_outwards
from hockeystick.profile.expressions.base import Expression

__all__ = ["Conditioned"]

# What LR may have lost to floating point before the subtraction; afterwards it counts 1/rate times.
ROUNDING = 1e-13


@dataclass(frozen=True)
class Conditioned(Expression):
    """The pair (P', Q) where the child is ((1 - rate) Q + rate P', Q).

    LR becomes (LR - 1 + rate) / rate. The map is affine and increasing, so upper and lower bounds
    stay what they are.
    """

    child: Expression
    rate: float

    @property
    def lower_composes(self) -> bool:
        """As for the child."""
        return self.child.lower_composes

    def law(self, side: Side, resolution: Resolution) -> Law:
        """Atom by atom; the child's tails may only be cut by `rate` times what may be lost here."""
        law = condition(self.child.law(side, resolution.scaled(tail=self.rate)), self.rate)
        return law if side is Side.LOWER else _with_error(law, ROUNDING / self.rate)

    def levels(self) -> int:
        """No rounding of its own."""
        return self.child.levels()


def _with_error(law: Law, error: float) -> Law:
    """LR moved away from 1 by the error, which is relative above 1 and absolute below.

    Below 1 it may leave nothing; a ratio that is mostly error would otherwise pass for a bound.
    """
    with np.errstate(divide="ignore", over="ignore"):
        lowered = law.loss + np.log1p(-np.minimum(error * np.exp(-law.loss), 1.0))
    return spread_outwards(law, np.where(law.loss >= 0, law.loss + error, lowered))
