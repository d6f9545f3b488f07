"""Inputs of many-fold operations."""

from __future__ import annotations

from hockeystick._numerics.convolution import compress
from hockeystick._numerics.law import Law, Resolution, Side
from hockeystick.profile.expressions.base import Expression

__all__ = ["operand_law"]

# A law in closed form is discretised this much finer than the result and then put on a grid of its
# own: that costs little, and its own discretisation error becomes negligible.
REFINEMENT = 4.0


def operand_law(operand: Expression, side: Side, resolution: Resolution) -> Law:
    """The law of an operand, ready to be multiplied or averaged many times."""
    if operand.levels() > 0:
        return operand.law(side, resolution)
    half = resolution.scaled(tail=0.5)
    return compress(operand.law(side, half.scaled(step=1 / REFINEMENT)), half, side)
