"""A row of a comparison: a plan with the noise it needs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from hockeystick.accounting.calibrate import Calibration
from hockeystick.guarantee import Answer
from hockeystick.plan import Plan
from hockeystick.strategies.workloads import Workload

__all__ = ["Compared"]


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
    workload
        What the error is of: prefix sums if it is None.
    baseline
        Whether this is plain DP-SGD: Poisson batches and independent noise.

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
    workload: Workload = None
    baseline: bool = False

    @cached_property
    def answer(self) -> Answer:
        """The epsilon that is reached, with the method that proves it and its kind."""
        return self.calibration.guarantee.answer(delta=self.calibration.delta)

    @cached_property
    def unit_error(self) -> float:
        """The mean squared error at noise multiplier 1 and clip norm 1."""
        return self.plan.strategy.mean_squared_error(self.workload)

    @property
    def mean_squared_error(self) -> float:
        """noise_multiplier^2 times the strategy's error, at clip norm 1."""
        return self.calibration.noise_multiplier**2 * self.unit_error
