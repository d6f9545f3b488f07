"""`compare`: every scheme and strategy for a run of a given size, best first."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy.typing as npt

from hockeystick import _validate as check
from hockeystick.accounting.calibrate import Calibration, calibrate
from hockeystick.accounting.candidates import RunSize, candidates, plan_of, steps_for
from hockeystick.errors import InvalidParameter
from hockeystick.guarantee import Answer
from hockeystick.plan import Plan
from hockeystick.schemes import Candidate, Sampling
from hockeystick.strategies import Strategy
from hockeystick.strategies.workloads import Workload

__all__ = [
    "Compared",
    "ComparisonClock",
    "candidate_text",
    "compare",
    "compare_run",
    "duration_text",
    "progress_bar",
    "steps_for",
]


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


@check.known_names_only
def compare(
    *,
    examples: int,
    batch_size: float,
    epsilon: float,
    delta: float,
    steps: int | None = None,
    epochs: float | None = None,
    schemes: Collection[str] | None = None,
    quick: bool = False,
    optimizer: str = "sgd",
    momentum: float = 0.0,
    learning_rates: str | npt.ArrayLike | None = None,
    examples_per_user: int | None = None,
    verify: bool = False,
    seed: int | None = None,
    update: Callable[[str], None] = lambda text: None,
    found: Callable[[Compared], None] = lambda one: None,
) -> list[Compared]:
    """Every scheme and strategy that is known for such a run, the smallest error first.

    All are calibrated to (epsilon, delta) with the tightest proven method and compared by the mean
    squared error of the noise in the iterates, which is what training is affected by. Noise
    multipliers of different strategies mean different things.

    With `verify`, schemes whose runs are verified by some ten thousand draws (b-min-sep) are tried
    with more bands and strategies. A cheap estimate decides which of them are worth it; these are
    calibrated by tests, beside the proven ones, and their kind is "verified". The tests share one
    probability of a wrong acceptance, inside delta, so that the best row may be used.

    Parameters
    ----------
    examples, batch_size
        The size of the run; `batch_size` is an expectation.
    epsilon, delta
        The guarantee that all of them give.
    steps, epochs
        The number of updates or, instead, of passes over the data, as for `steps_for`.
    schemes
        Names of the schemes to try; all by default.
    quick
        Only candidates whose accounting is a closed form or a convolution: seconds where others
        take minutes.
    optimizer
        "sgd", or one whose iterates are not linear in the gradients: "adam", "adamw", "adagrad",
        "rmsprop", "other". What noise does to those depends on the data, so that no error can be
        computed; only independent noise is compared for them, by the error in the sums of the
        gradients, which ranks like the noise of a single step.
    momentum, learning_rates
        What SGD does with the gradients, as for `strategies.iterates`. Strategies are
        optimised for it, and errors are of its iterates, in units of the largest learning rate.
    examples_per_user
        Protect users, each of whom has as many examples; by default every example by itself.
    verify
        Whether candidates are verified by draws as well.
    seed
        Makes these draws reproducible; by default it comes from the operating system.
    update
        Is called with a sentence: what is calibrated, which of how many, about the time left.
    found
        Is called with each result as it comes, the quick ones first.

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
    run = RunSize(
        examples=examples,
        batch_size=batch_size,
        steps=steps,  # type: ignore[arg-type]  # None with epochs
        epochs=epochs,
        momentum=momentum,
        learning_rates=learning_rates,
        examples_per_user=examples_per_user,
        optimizer=optimizer,
    )
    if seed is not None and not check.boolean("verify", verify):
        raise InvalidParameter("seed", "left out unless verify is True", seed)
    tried = candidates(run, schemes=schemes, quick=check.boolean("quick", quick), verify=verify)
    return compare_run(
        run,
        tried,
        epsilon=epsilon,
        delta=delta,
        verify=check.boolean("verify", verify),
        seed=check.seed("seed", seed),
        update=update,
        found=found,
    )


def compare_run(
    run: RunSize,
    tried: Sequence[Candidate],
    *,
    epsilon: float,
    delta: float,
    verify: bool = False,
    seed: int | None = None,
    update: Callable[[str], None] = lambda text: None,
    found: Callable[[Compared], None] = lambda one: None,
) -> list[Compared]:
    """The candidates with their noise, the smallest error first; with `verify` by draws too."""
    check.wanted_epsilon("epsilon", epsilon)
    check.small_probability("delta", delta)
    if verify:
        from hockeystick.accounting.verified_comparison import time_of_draws, verified_rows

        update(time_of_draws(tried))
    proven = [one for one in tried if not one.by_draws]
    results = _proven(run, proven, epsilon=epsilon, delta=delta, update=update, found=found)
    if verify:
        results += verified_rows(
            run,
            tried,
            results,
            epsilon=epsilon,
            delta=delta,
            seed=seed,
            update=update,
            found=found,
        )
    return sorted(results, key=lambda one: one.mean_squared_error)


def _proven(
    run: RunSize,
    tried: Sequence[Candidate],
    *,
    epsilon: float,
    delta: float,
    update: Callable[[str], None],
    found: Callable[[Compared], None],
) -> list[Compared]:
    """The candidates with their proven noise, in their order."""
    results: list[Compared] = []
    per_column: dict[Sampling, float] = {}
    clock = ComparisonClock(tried)
    for number, candidate in enumerate(tried):
        update(f"{number + 1} of {len(tried)}: {candidate_text(candidate)}{clock.left(number)}")
        start = time.perf_counter()
        plan = plan_of(candidate, run)
        longest = float(plan.strategy.column_norms.max())
        # A scheme needs about the same noise per length of a column, whatever the strategy.
        guess = per_column.get(plan.sampling)
        calibration = calibrate(
            plan, epsilon=epsilon, delta=delta, start=None if guess is None else guess * longest
        )
        per_column[plan.sampling] = calibration.noise_multiplier / longest
        seconds = time.perf_counter() - start
        clock.took.append(seconds)
        results.append(Compared(plan, calibration, seconds, run.workload, candidate.baseline))
        found(results[-1])
    return results
