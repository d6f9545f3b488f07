"""`compare`: every scheme and strategy for a run of a given size, best first."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from hockeystick import _validate as check
from hockeystick._foreign import known_names_only
from hockeystick.accounting.calibrate import Calibration, calibrate
from hockeystick.guarantee import Answer
from hockeystick.plan import Plan
from hockeystick.schemes import SCHEMES, Sampling
from hockeystick.schemes.batches import batch_size_within
from hockeystick.strategies import identity

__all__ = ["Compared", "candidates", "compare"]


@dataclass(frozen=True)
class Compared:
    """A plan with the noise it needs for the wanted guarantee.

    Attributes
    ----------
    plan
        The scheme, the steps and the strategy.
    calibration
        The noise with its guarantee.
    seconds
        How long it took to make the strategy and to find the noise.

    Examples
    --------
    >>> import hockeystick as hs
    >>> best, *_ = hs.compare(examples=4, batch_size=4, steps=2, epsilon=1.0, delta=1e-5)
    >>> best.answer.value <= 1.0 and best.mean_squared_error > 0
    True
    """

    plan: Plan
    calibration: Calibration
    seconds: float

    @cached_property
    def answer(self) -> Answer:
        """The epsilon that is reached, with the method that proves it and its kind."""
        return self.calibration.guarantee.answer(delta=self.calibration.delta)

    @cached_property
    def mean_squared_error(self) -> float:
        """noise_multiplier^2 times the strategy's error: of the prefix sums, at clip norm 1."""
        return self.calibration.noise_multiplier**2 * self.plan.strategy.mean_squared_error()


def candidates(*, examples: int, batch_size: float, steps: int) -> Iterator[Plan]:
    """Plans with the wanted expected batch size, made one after the other.

    Every registered scheme says what it would try. Optimised strategies are made on the way, so the
    time to the next plan counts as its own.
    """
    size, examples = batch_size_within(batch_size, examples=examples)
    steps = check.positive_integer("steps", steps)
    for scheme in SCHEMES.values():
        for one in scheme.candidates(batch_size=size, examples=examples, steps=steps):
            strategy = identity(steps) if one.strategy is None else one.strategy
            yield Plan(sampling=one.sampling, steps=steps, strategy=strategy)


@known_names_only
def compare(
    *,
    examples: int,
    batch_size: float,
    steps: int,
    epsilon: float,
    delta: float,
    update: Callable[[str], None] = lambda text: None,
) -> list[Compared]:
    """Every scheme and strategy that is known for such a run, the smallest error first.

    All are calibrated to (epsilon, delta) with the tightest proven method and compared by the mean
    squared error of the noise in the prefix sums, which is what training is affected by. Noise
    multipliers of different strategies mean different things.

    Parameters
    ----------
    examples, batch_size, steps
        The size of the run; `batch_size` is an expectation.
    epsilon, delta
        The guarantee that all of them give.
    update
        Is called with a sentence that says which plan is calibrated.

    Returns
    -------
    list of Compared
        Plans with their noise, the smallest error first.

    Examples
    --------
    >>> import hockeystick as hs
    >>> found = hs.compare(examples=4, batch_size=4, steps=2, epsilon=1.0, delta=1e-5)
    >>> found[0].plan.sampling.name
    'full-batch'
    """
    check.wanted_epsilon("epsilon", epsilon)
    check.small_probability("delta", delta)
    plans = candidates(examples=examples, batch_size=batch_size, steps=steps)
    found: list[Compared] = []
    per_column: dict[Sampling, float] = {}
    start = time.perf_counter()
    for plan in plans:
        update(f"Calibrating {plan.sampling.name} with {plan.strategy.name} ...")
        longest = float(plan.strategy.column_norms.max())
        # A scheme needs about the same noise per length of a column, whatever the strategy.
        guess = per_column.get(plan.sampling)
        calibration = calibrate(
            plan,
            epsilon=epsilon,
            delta=delta,
            start=None if guess is None else guess * longest,
        )
        per_column[plan.sampling] = calibration.noise_multiplier / longest
        now = time.perf_counter()
        found.append(Compared(plan, calibration, now - start))
        start = now
    return sorted(found, key=lambda one: one.mean_squared_error)
