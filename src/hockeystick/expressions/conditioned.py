"""Poisson subsampling undone: given that the example takes part."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hockeystick._numerics.cells import mixture
from hockeystick._numerics.law import Law, Resolution, Side, condition, from_losses
from hockeystick.expressions.base import Expression

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
        return law if side is Side.LOWER else _lowered(law, ROUNDING / self.rate)

    def levels(self) -> int:
        """No rounding of its own."""
        return self.child.levels()


def _lowered(law: Law, error: float) -> Law:
    """Likelihood ratios below 1 moved down by the error, at most to 0, as a spread.

    An atom at x < 1 becomes one at y = max(x - error, 0) and one at 1, with the same mean; so the
    law dominates the one before. Without this a ratio that is mostly error would pass for a bound.
    """
    ratio = np.exp(np.minimum(law.loss, 0.0))
    target = np.where(ratio < 1, np.maximum(ratio - error, 0.0), ratio)
    lifted = np.where(ratio < 1, (ratio - target) / np.maximum(1 - target, error), 0.0) * law.q
    at_zero = target <= 0
    with np.errstate(divide="ignore"):
        moved = np.where(ratio < 1, np.log(target), law.loss)
    kept = ~at_zero
    main = np.where(law.loss >= 0, law.p, law.q - lifted)[kept]
    lowered = from_losses(
        moved[kept],
        main,
        p_infinite=law.p_infinite,
        q_zero=law.q_zero + float((law.q - lifted)[at_zero].sum()),
    )
    return mixture([lowered, from_losses(np.zeros(1), np.array([float(lifted.sum())]))])
