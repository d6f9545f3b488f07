"""Numbers from expressions, refined until the upper and the lower bound agree.

The excess of a bound over the truth falls with the square of the grid's step, so after one
evaluation the step that will reach the requested accuracy is known: most questions take one or two.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal, NamedTuple

from hockeystick._numerics.divergence import ROUNDING, delta_from_law, epsilon_from_law
from hockeystick._numerics.law import Law, Resolution, Side, reverse
from hockeystick._numerics.search import smallest_argument
from hockeystick.errors import PrecisionError
from hockeystick.profile.expressions.base import Expression

__all__ = [
    "BOTH",
    "DELTA_FACTOR",
    "DELTA_NATS",
    "EPSILON_NATS",
    "EPSILON_ROUNDING",
    "FIRST_LOOK",
    "FIRST_LOOK_TAILS",
    "NOTHING_LEFT",
    "SMALLEST_EPSILON",
    "TAIL_BELOW_DELTA",
    "Bounds",
    "Direction",
    "Evaluator",
    "Laws",
    "Question",
    "as_seen",
    "beyond_all_losses",
    "finest_step",
    "first_step",
    "smallest_tail",
    "tail_below",
]

Direction = Literal["remove", "add"]
BOTH: tuple[Direction, ...] = ("remove", "add")

# The gap of two bounds after L roundings at a given step is about this times L step**2.
GAP_PER_LEVEL = 0.15
COARSEST_STEP, FINEST_STEP = 0.1, 0.0012
# Below this epsilon accuracy is absolute: nobody needs 0.1 % of 1e-5.
SMALLEST_EPSILON = 1e-3
# epsilon is moved outwards too: at the end of a bounded loss delta changes within a few ulps of it.
EPSILON_ROUNDING = 1e-12
# delta moves faster than epsilon: its relative accuracy is this multiple of the one asked for.
DELTA_FACTOR = 5.0
# How much tail may be cut; the first one far enough below delta is used.
TAILS = (1e-10, 1e-12, 1e-15, 1e-20, 1e-27, 1e-40, 1e-60, 1e-90, 1e-140, 1e-200, 1e-280)
TAIL_BELOW_DELTA = 1e-5
# A delta that is not above this is mostly tail, and no finer law would change that.
NOTHING_LEFT = 1e3 * TAILS[-1]
# A first look at an unknown delta takes this accuracy and these tails.
FIRST_LOOK, FIRST_LOOK_TAILS = 0.2, (1e-20, 1e-60, 1e-280)
# For epsilon the grid may thin out in the tails, where delta itself would need it finer.
EPSILON_NATS, DELTA_NATS = 24.0, 6.0
CACHED_LAWS = 6
# Laws never get finer than this; wide ones need logarithmic arithmetic, which is slower.
MOST_ATOMS, MOST_ATOMS_OF_WIDE_LAWS, WIDE_LAW = 10_000, 6_000, 600.0


class Bounds(NamedTuple):
    """Proven bounds on one number."""

    lower: float
    upper: float


class Laws(NamedTuple):
    """The two sides of one law."""

    lower: Law
    upper: Law


@dataclass(frozen=True)
class Question:
    """What is asked of a pair of laws, and when the answer is good enough.

    `gap` is in units of what is allowed: at most 1 is good. `last_resort` may accept the finest
    laws when the gap is still above 1.
    """

    name: str
    read: Callable[[Laws], Bounds]
    gap: Callable[[Bounds], float]
    tail: float
    nats: float
    accuracy: float
    last_resort: Callable[[Laws], bool] = lambda laws: False
    # Whether finer laws might help.
    refine: bool = True
    # What is answered, if it has to be wider than what is compared.
    outwards: Callable[[Laws], Bounds] | None = None


class Evaluator:
    """Answers questions about one expression and remembers its laws."""

    def __init__(self, expression: Expression) -> None:
        self.expression = expression
        self._laws: OrderedDict[Resolution, Laws] = OrderedDict()

    def epsilon(self, delta: float, directions: Sequence[Direction], accuracy: float) -> Bounds:
        """Bounds on the smallest epsilon >= 0 with H <= delta in all given directions."""
        if self.has_closed_form():
            return self._closed_form_epsilon(delta, directions)

        def read(laws: Laws) -> Bounds:
            more, less = delta * (1 + ROUNDING), delta / (1 + ROUNDING)
            lower = max(epsilon_from_law(as_seen(laws.lower, d), more) for d in directions)
            upper = max(epsilon_from_law(as_seen(laws.upper, d), less) for d in directions)
            return Bounds(lower * (1 - EPSILON_ROUNDING), upper * (1 + EPSILON_ROUNDING))

        def gap(bounds: Bounds) -> float:
            return _ratio(bounds, accuracy * max(bounds.upper, SMALLEST_EPSILON))

        name = f"epsilon at delta = {delta:g}"
        tail = tail_below(delta)
        # Below the smallest tail, and next to 1, there is nothing to gain from finer laws.
        refine = tail < delta < 1 - 10 * ROUNDING
        return self.answer(Question(name, read, gap, tail, EPSILON_NATS, accuracy, refine=refine))

    def delta(self, epsilon: float, directions: Sequence[Direction], accuracy: float) -> Bounds:
        """Bounds on the largest H at e^epsilon over the given directions."""
        if self.has_closed_form():
            return self._closed_form_delta(epsilon, directions)
        if beyond_all_losses(self.expression, epsilon, directions):
            return Bounds(0.0, 0.0)

        def worst(law: Law, at: float) -> float:
            return max(delta_from_law(as_seen(law, d), at) for d in directions)

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

        seen = self._first_look(outwards)
        if seen <= NOTHING_LEFT:
            return Bounds(0.0, seen)
        name, tail = f"delta at epsilon = {epsilon:g}", tail_below(seen)
        return self.answer(
            Question(
                name, read, gap, tail, DELTA_NATS, accuracy, accurate_in_epsilon, outwards=outwards
            )
        )

    def answer(self, question: Question) -> Bounds:
        """Evaluate at finer steps until the answer is good enough."""
        step = first_step(self.expression, question.accuracy)
        while True:
            laws = self.laws(Resolution(step, question.tail, question.nats))
            # Bounds that cross are no bounds: the larger number is the one that may be claimed, and
            # their distance counts as inaccuracy.
            bounds = Bounds(*sorted(question.read(laws)))
            excess = question.gap(bounds)
            if question.outwards is not None:
                bounds = Bounds(*sorted(question.outwards(laws)))
            if excess <= 1.0:
                return bounds
            finest = min(finest_step(laws.upper, step), step)
            if step <= finest or not question.refine:
                if question.last_resort(laws):
                    return bounds
                raise PrecisionError(
                    f"{question.name} is only known to lie between {bounds.lower:g} and "
                    f"{bounds.upper:g}; the requested accuracy {question.accuracy:g} "
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

    def _first_look(self, read: Callable[[Laws], Bounds]) -> float:
        """A rough upper bound on delta, seen through a tail that is small compared with it."""
        upper = 1.0
        for tail in FIRST_LOOK_TAILS:
            step = first_step(self.expression, FIRST_LOOK)
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


def first_step(expression: Expression, accuracy: float) -> float:
    """The step at which the bounds should be as close as is asked for."""
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


def as_seen(law: Law, direction: Direction) -> Law:
    """The law as the direction sees it."""
    return law if direction == "remove" else reverse(law)


def _ratio(bounds: Bounds, allowed: float) -> float:
    return 0.0 if bounds.upper == bounds.lower else (bounds.upper - bounds.lower) / allowed
