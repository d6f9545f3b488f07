"""Which grid steps and tails suit a requested accuracy, and limits of floating point."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from hockeystick._numerics.law import Law, reverse
from hockeystick.profile.expressions import Expression

__all__ = [
    "BOTH",
    "COARSEST_STEP",
    "COARSE_ACCURACY",
    "COARSE_TAILS",
    "DELTA_FACTOR",
    "DELTA_NATS",
    "EPSILON_NATS",
    "EPSILON_ROUNDING",
    "FINEST_STEP",
    "GAP_PER_LEVEL",
    "MOST_ATOMS",
    "MOST_ATOMS_OF_WIDE_LAWS",
    "NEGLIGIBLE_DELTA",
    "SMALLEST_EPSILON",
    "TAILS",
    "TAIL_BELOW_DELTA",
    "WIDE_LAW",
    "Direction",
    "beyond_all_losses",
    "finest_step",
    "first_step",
    "oriented",
    "smallest_tail",
    "tail_below",
]

Direction = Literal["remove", "add"]
BOTH: tuple[Direction, ...] = ("remove", "add")

# The gap of two bounds after L roundings is about this times L step**2: a first guess, which the
# first evaluation corrects. (A rounding changes the variance by about step**2 / 6 on either side.)
GAP_PER_LEVEL = 0.15
# Steps in standard deviations, from some hundred to some ten thousand atoms.
COARSEST_STEP, FINEST_STEP = 0.1, 0.0012
# Below this epsilon accuracy is absolute: 0.1 % of 1e-5 is of no use.
SMALLEST_EPSILON = 1e-3
# epsilon is moved outwards too: at the end of a bounded loss delta changes within a few ulps of it.
EPSILON_ROUNDING = 1e-12
# delta changes faster than epsilon: its relative accuracy is this multiple of the requested one.
DELTA_FACTOR = 5.0
# How much tail may be cut, down to what squarings keep within floating point; the first one that is
# this small beside delta is used.
TAILS = (1e-10, 1e-12, 1e-15, 1e-20, 1e-27, 1e-40, 1e-60, 1e-90, 1e-140, 1e-200, 1e-280)
TAIL_BELOW_DELTA = 1e-5
# A delta that is not above this is mostly tail, and no finer law would change that.
NEGLIGIBLE_DELTA = 1e3 * TAILS[-1]
# A coarse evaluation of an unknown delta has this accuracy and these tails.
COARSE_ACCURACY, COARSE_TAILS = 0.2, (1e-20, 1e-60, 1e-280)
# For epsilon the grid may thin out in the tails, where delta itself would need it finer.
EPSILON_NATS, DELTA_NATS = 24.0, 6.0
# Laws never get finer than this: a product visits the square of it. Wide ones need logarithmic
# arithmetic, which is slower.
MOST_ATOMS, MOST_ATOMS_OF_WIDE_LAWS, WIDE_LAW = 10_000, 6_000, 600.0


def first_step(expression: Expression, accuracy: float) -> float:
    """The step at which the bounds should be as close as requested."""
    wanted = math.sqrt(0.7 * accuracy / (GAP_PER_LEVEL * (expression.levels() + 1)))
    return min(max(wanted, FINEST_STEP), COARSEST_STEP)


def beyond_all_losses(
    expression: Expression, epsilon: float, directions: Sequence[Direction]
) -> bool:
    """Whether no loss exceeds epsilon, so that delta is 0."""
    largest = max(expression.largest_loss(reverse=d == "add") for d in directions)
    return epsilon > largest * (1 + EPSILON_ROUNDING)


def finest_step(law: Law, step: float) -> float:
    """The finest step that is worth its time: the cost grows with the square of the atoms.

    `law` was computed at the given step. Within a few per cent of the limit there is nothing to
    gain.
    """
    wide = law.loss[-1] - law.loss[0] >= WIDE_LAW
    most = MOST_ATOMS_OF_WIDE_LAWS if wide else MOST_ATOMS
    return max(FINEST_STEP, step * 1.05 * law.loss.size / most)


def tail_below(delta: float) -> float:
    """A tail that does not matter beside delta, nor beside what it leaves of 1."""
    small = TAIL_BELOW_DELTA * min(delta, 1 - delta)
    return next((tail for tail in TAILS if tail <= small), TAILS[-1])


def smallest_tail() -> float:
    """The smallest tail that floating point allows."""
    return TAILS[-1]


def oriented(law: Law, direction: Direction) -> Law:
    """The law of (P, Q), or that of (Q, P) for the add direction."""
    return law if direction == "remove" else reverse(law)
