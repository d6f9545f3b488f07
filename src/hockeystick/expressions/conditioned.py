"""Poisson subsampling undone: given that the example takes part."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hockeystick._numerics.law import Law, Resolution, Side, condition, from_losses
from hockeystick.expressions.base import Expression

__all__ = ["Conditioned"]

# What the mean of the child's law may have lost to floating point; here it counts 1/rate times.
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
        return law if side is Side.LOWER else _outwards(law, ROUNDING / self.rate)

    def levels(self) -> int:
        """No rounding of its own."""
        return self.child.levels()


def _outwards(law: Law, distance: float) -> Law:
    """Losses moved away from 0, which makes both directions larger."""
    moved = law.loss + np.copysign(distance, law.loss)
    main = np.where(law.loss >= 0, law.p, law.q)
    return from_losses(moved, main, p_infinite=law.p_infinite, q_zero=law.q_zero)
