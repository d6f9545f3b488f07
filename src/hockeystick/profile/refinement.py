"""Numbers from expressions, refined until the upper and the lower bound agree.

The excess of a bound over the truth falls with the square of the grid's step, so after one
evaluation the step that will reach the requested accuracy is known: most requests take one or two.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

from hockeystick._numerics.divergence import ROUNDING, delta_from_law, epsilon_from_law
from hockeystick._numerics.law import Law, Resolution, Side
from hockeystick._numerics.search import smallest_argument
from hockeystick.errors import PrecisionError
from hockeystick.profile.expressions import Expression
from hockeystick.profile.resolution import (
    COARSE_ACCURACY,
    COARSE_TAILS,
    DELTA_FACTOR,
    DELTA_NATS,
    EPSILON_NATS,
    EPSILON_ROUNDING,
    NEGLIGIBLE_DELTA,
    SMALLEST_EPSILON,
    TAIL_BELOW_DELTA,
    Direction,
    beyond_all_losses,
    finest_step,
    first_step,
    oriented,
    tail_below,
)

__all__ = ["Bounds", "Evaluator", "Laws", "Quantity"]


# Laws that are remembered: the steps of one refinement, for two requests.
CACHED_LAWS = 6


class Bounds(NamedTuple):
    """Proven bounds on one number."""

    lower: float
    upper: float


class Laws(NamedTuple):
    """The two sides of one law."""

    lower: Law
    upper: Law


@dataclass(frozen=True)
class Quantity:
    """What is read from a pair of laws, and when it is accurate enough.

    Attributes
    ----------
    name
        For error messages.
    read
        The bounds that two laws give.
    gap
        Their distance in units of what is allowed: at most 1 is accurate enough.
    tail, nats, accuracy
        The tail that may be cut, how far out the grid is fine, and the requested accuracy.
    last_resort
        Whether the finest laws are acceptable although the gap is above 1.
    refine
        Whether finer laws might help.
    outwards
        What is answered, if it has to be wider than what is compared.
    """

    name: str
    read: Callable[[Laws], Bounds]
    gap: Callable[[Bounds], float]
    tail: float
    nats: float
    accuracy: float
    last_resort: Callable[[Laws], bool] = lambda laws: False
    refine: bool = True
    outwards: Callable[[Laws], Bounds] | None = None


class Evaluator:
    """Bounds on the numbers of one expression; its laws are remembered."""

    def __init__(self, expression: Expression) -> None:
        self.expression = expression
        self._laws: OrderedDict[Resolution, Laws] = OrderedDict()

    def epsilon(self, delta: float, directions: Sequence[Direction], accuracy: float) -> Bounds:
        """Bounds on the smallest epsilon >= 0 with H <= delta in all given directions."""
        if self.has_closed_form():
            return self._closed_form_epsilon(delta, directions)

        def read(laws: Laws) -> Bounds:
            more, less = delta * (1 + ROUNDING), delta / (1 + ROUNDING)
            lower = max(epsilon_from_law(oriented(laws.lower, d), more) for d in directions)
            upper = max(epsilon_from_law(oriented(laws.upper, d), less) for d in directions)
            return Bounds(lower * (1 - EPSILON_ROUNDING), upper * (1 + EPSILON_ROUNDING))

        def gap(bounds: Bounds) -> float:
            return _ratio(bounds, accuracy * max(bounds.upper, SMALLEST_EPSILON))

        name = f"epsilon at delta = {delta:g}"
        tail = tail_below(delta)
        # Below the smallest tail, and next to 1, there is nothing to gain from finer laws.
        refine = tail < delta < 1 - 10 * ROUNDING
        return self.answer(Quantity(name, read, gap, tail, EPSILON_NATS, accuracy, refine=refine))

    def delta(self, epsilon: float, directions: Sequence[Direction], accuracy: float) -> Bounds:
        """Bounds on the largest H at e^epsilon over the given directions."""
        if self.has_closed_form():
            return self._closed_form_delta(epsilon, directions)
        if beyond_all_losses(self.expression, epsilon, directions):
            return Bounds(0.0, 0.0)

        def worst(law: Law, at: float) -> float:
            return max(delta_from_law(oriented(law, d), at) for d in directions)

        def read(laws: Laws, move: float = 0.0) -> Bounds:
            upper = min(1.0, worst(laws.upper, epsilon - move) * (1 + ROUNDING))
            return Bounds(worst(laws.lower, epsilon + move) * (1 - ROUNDING), upper)

        def outwards(laws: Laws) -> Bounds:
            # Losses are rounded too, which next to an atom may be all of delta.
            return read(laws, EPSILON_ROUNDING * abs(epsilon) if math.isfinite(epsilon) else 0.0)

        def gap(bounds: Bounds) -> float:
            return _ratio(bounds, DELTA_FACTOR * accuracy * bounds.upper)

        def accurate_in_epsilon(laws: Laws) -> bool:
            shift = accuracy * max(abs(epsilon), SMALLEST_EPSILON)
            return worst(laws.upper, epsilon) <= worst(laws.lower, epsilon - shift)

        coarse = self._coarse_delta(outwards)
        if coarse <= NEGLIGIBLE_DELTA:
            return Bounds(0.0, coarse)
        name, tail = f"delta at epsilon = {epsilon:g}", tail_below(coarse)
        return self.answer(
            Quantity(
                name, read, gap, tail, DELTA_NATS, accuracy, accurate_in_epsilon, outwards=outwards
            )
        )

    def answer(self, quantity: Quantity) -> Bounds:
        """Evaluate at finer steps until the answer is good enough."""
        step = first_step(self.expression, quantity.accuracy)
        while True:
            laws = self.laws(Resolution(step, quantity.tail, quantity.nats))
            # Bounds that cross are no bounds: the larger number is the one that may be claimed, and
            # their distance counts as inaccuracy.
            bounds = Bounds(*sorted(quantity.read(laws)))
            excess = quantity.gap(bounds)
            if quantity.outwards is not None:
                bounds = Bounds(*sorted(quantity.outwards(laws)))
            if excess <= 1.0:
                return bounds
            finest = min(finest_step(laws.upper, step), step)
            if step <= finest or not quantity.refine:
                if quantity.last_resort(laws):
                    return bounds
                raise PrecisionError(
                    f"{quantity.name} is only known to lie between {bounds.lower:g} and "
                    f"{bounds.upper:g}; the requested accuracy {quantity.accuracy:g} "
                    "was not reached.",
                    lower=bounds.lower,
                    upper=bounds.upper,
                )
            shrink = math.sqrt(0.7 / excess) if math.isfinite(excess) else 0.5
            step = max(step * min(max(shrink, 0.25), 0.8), finest)

    def laws(self, resolution: Resolution) -> Laws:
        """Both sides at one resolution, computed side by side."""
        if resolution not in self._laws:
            self._laws[resolution] = self._compute(resolution)
            if len(self._laws) > CACHED_LAWS:
                self._laws.popitem(last=False)
        self._laws.move_to_end(resolution)
        return self._laws[resolution]

    def _compute(self, resolution: Resolution) -> Laws:
        law = self.expression.law
        if self.expression.levels() == 0:
            return Laws(law(Side.LOWER, resolution), law(Side.UPPER, resolution))
        with ThreadPoolExecutor(1) as pool:
            lower = pool.submit(law, Side.LOWER, resolution)
            upper = law(Side.UPPER, resolution)
            return Laws(lower.result(), upper)

    def _coarse_delta(self, read: Callable[[Laws], Bounds]) -> float:
        """A rough upper bound on delta, with a tail that is small compared with it."""
        upper = 1.0
        for tail in COARSE_TAILS:
            step = first_step(self.expression, COARSE_ACCURACY)
            upper = read(self.laws(Resolution(step, tail, DELTA_NATS))).upper
            if tail <= TAIL_BELOW_DELTA * upper:
                break
        return upper

    def has_closed_form(self) -> bool:
        """Whether numbers come from a formula."""
        return self.expression.closed_form(0.0, reverse=False) is not None

    def _formula(self, epsilon: float, direction: Direction) -> float:
        value = self.expression.closed_form(epsilon, reverse=direction == "add")
        assert value is not None
        return value

    def _closed_form_delta(self, epsilon: float, directions: Sequence[Direction]) -> Bounds:
        error = self.expression.closed_form_error
        shift = self.expression.argument_error
        # An epsilon that is infinite has no rounding.
        move = shift * abs(epsilon) if shift and math.isfinite(epsilon) else 0.0
        lower = max(self._formula(epsilon + move, d) for d in directions)
        upper = max(self._formula(epsilon - move, d) for d in directions) if move else lower
        return Bounds(lower * (1 - error), min(1.0, upper * (1 + error)))

    def _closed_form_epsilon(self, delta: float, directions: Sequence[Direction]) -> Bounds:
        error = self.expression.closed_form_error

        def solve(target: float) -> tuple[float, float]:
            return smallest_argument(
                lambda e: max(self._formula(e, d) for d in directions) <= target
            )

        shift = self.expression.argument_error
        lower, upper = solve(delta * (1 + error))[0], solve(delta / (1 + error))[1]
        return Bounds(lower * (1 - shift), upper * (1 + shift))


def _ratio(bounds: Bounds, allowed: float) -> float:
    return 0.0 if bounds.upper == bounds.lower else (bounds.upper - bounds.lower) / allowed
