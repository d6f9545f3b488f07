"""Rows of a comparison, and what it says while it works."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from hockeystick.accounting.calibrate import Calibration
from hockeystick.guarantee import Answer
from hockeystick.plan import Plan
from hockeystick.schemes import Candidate
from hockeystick.strategies import Strategy
from hockeystick.strategies.workloads import Workload

__all__ = ["Compared", "ComparisonClock", "candidate_text", "duration_text", "progress_bar"]

# Signs of a progress bar.
BAR = 20


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


def candidate_text(candidate: Candidate) -> str:
    """Scheme and strategy, with what it is parametrised by."""
    made = candidate.strategy
    if made is None:
        return f"{candidate.sampling.name}, independent noise"
    name = str(made.name if isinstance(made, Strategy) else getattr(made, "__name__", "strategy"))
    size = ", ".join(
        f"{candidate.parameters[one]} {one}"
        for one in ("bands", "buffers")
        if one in candidate.parameters
    )
    return f"{candidate.sampling.name}, {name.replace('_', '-')}" + (f", {size}" if size else "")


class ComparisonClock:
    """How long the rest takes: what candidates declare, by how much that was off so far.

    The ones of the same scheme, quick or not, count where there are any; otherwise all do.
    """

    def __init__(self, tried: Sequence[Candidate]) -> None:
        self._tried = tried
        self.took: list[float] = []

    def left(self, number: int) -> str:
        """About the time for candidate `number` and all later ones, as a clause."""
        if not self.took:
            return ""
        seconds = sum(self._expected(one) for one in self._tried[number:])
        return f"; {duration_text(seconds)} left"

    def _expected(self, one: Candidate) -> float:
        done = list(zip(self._tried, self.took, strict=False))
        kind = (one.sampling.name, one.quick)
        alike = [pair for pair in done if (pair[0].sampling.name, pair[0].quick) == kind] or done
        declared = sum(candidate.seconds for candidate, _ in alike)
        return one.seconds * sum(seconds for _, seconds in alike) / declared


def progress_bar(done: int, total: int) -> str:
    """How many of all are done, as a bar and in numbers."""
    filled = BAR * done // max(total, 1)
    return f"[{'#' * filled}{'-' * (BAR - filled)}] {done} of {total}"


def duration_text(seconds: float) -> str:
    """Seconds, or minutes if they are many."""
    if seconds <= 100:
        return f"about {max(seconds, 1):.0f} s"
    return f"about {seconds / 60:.0f} min"
