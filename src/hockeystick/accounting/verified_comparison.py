"""The draws of `compare`: which candidates are worth verifying, and their verified noise.

A cheap estimate decides, with random numbers of its own. The tests that follow share the
probability of a wrong acceptance, because the best of what was accepted is what is used.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from hockeystick.accounting.calibrate import Calibration, calibrate
from hockeystick.accounting.candidates import RunSize, plan_of
from hockeystick.accounting.compare import (
    Compared,
    candidate_text,
    duration_text,
    progress_bar,
)
from hockeystick.guarantee import directions_for
from hockeystick.montecarlo import Execution, MonteCarlo
from hockeystick.montecarlo.noise_by_tuples import offers_tuples, sensitivity_of
from hockeystick.montecarlo.noise_estimate import quick_estimate
from hockeystick.montecarlo.verifier import Claim
from hockeystick.plan import Plan
from hockeystick.schemes import Candidate
from hockeystick.schemes.simulation import missing_simulation

__all__ = [
    "VERIFICATION",
    "Estimated",
    "expected_seconds",
    "time_of_draws",
    "verified_rows",
    "worth_verifying",
]


@dataclass(frozen=True)
class VerificationSettings:
    """What is verified, and what it is expected to take. A poor choice costs time or a row."""

    # Draws of an estimate: 3 % of delta, some tenths of a per cent of noise.
    draws: int = 3_000
    # Verified is what has an estimated error of at most so many times the least, and of every
    # scheme with every factorization the best.
    within: float = 1.05
    # Of the seconds that a candidate declares, those of its estimate; how many are likely tested.
    estimate_share: float = 0.3
    tested: int = 4


VERIFICATION = VerificationSettings()


class Estimated(NamedTuple):
    """A candidate, and about the error that exact accounting would give it; no guarantee."""

    candidate: Candidate
    plan: Plan
    noise_multiplier: float
    error: float


def expected_seconds(tried: Sequence[Candidate]) -> float:
    """About what a comparison with draws takes; which are tested is not known yet."""
    proven = sum(one.seconds for one in tried if not one.by_draws)
    drawn = sorted((one.seconds for one in tried if one.by_draws), reverse=True)
    share = VERIFICATION.estimate_share
    return proven + share * sum(drawn) + (1 - share) * sum(drawn[: VERIFICATION.tested])


def time_of_draws(tried: Sequence[Candidate]) -> str:
    """What a comparison with draws is going to do, and about how long it takes."""
    drawn = sum(one.by_draws for one in tried)
    return (
        f"{len(tried) - drawn} candidates have proven bounds, {drawn} more are estimated, and the "
        f"best of them verified by draws: {duration_text(expected_seconds(tried))}"
    )


def verified_rows(
    run: RunSize,
    tried: Sequence[Candidate],
    proven: Sequence[Compared],
    *,
    epsilon: float,
    delta: float,
    seed: int | None,
    update: Callable[[str], None],
    found: Callable[[Compared], None],
) -> list[Compared]:
    """What is worth verifying and was accepted; `proven` are the rows of the others."""
    seeds, rows = seeds_from(seed), iter(proven)
    drawn: list[tuple[Candidate, Plan]] = []
    for one in tried:
        other = None if one.by_draws else next(rows)
        plan = plan_of(one, run) if other is None else other.plan
        if can_be_drawn(plan, None if other is None else other.calibration, delta=delta):
            drawn.append((one, plan))

    def estimating(number: int) -> None:
        text = candidate_text(drawn[number][0])
        update(f"{progress_bar(number, len(drawn))} estimating {text}")

    about = estimates(run, drawn, epsilon=epsilon, delta=delta, seeds=seeds, update=estimating)
    least = min((one.mean_squared_error for one in proven), default=math.inf)
    chosen = worth_verifying(about, least=least)

    def testing(number: int, text: str) -> None:
        what = f"verifying {candidate_text(chosen[number].candidate)}{text and f': {text}'}"
        update(f"{progress_bar(number, len(chosen))} {what}")

    results: list[Compared] = []
    tests = verified(chosen, epsilon=epsilon, delta=delta, seeds=seeds, update=testing)
    for chosen_one, calibration, seconds in tests:
        if calibration.guarantee.answer(delta=delta).details["accepted"] is not True:
            continue
        results.append(Compared(chosen_one.plan, calibration, seconds, run.workload))
        found(results[-1])
    return results


def can_be_drawn(plan: Plan, calibration: Calibration | None, *, delta: float) -> bool:
    """Whether some ten thousand draws verify it, and a proven number is not exact already."""
    if calibration is not None and calibration.guarantee.analyses[0].tight:
        return False
    if missing_simulation(plan) is not None:
        return False
    claim = Claim(plan, 1.0, delta, directions_for("both"))
    return offers_tuples(claim, sensitivity_of(plan))


def estimates(
    run: RunSize,
    tried: Sequence[tuple[Candidate, Plan]],
    *,
    epsilon: float,
    delta: float,
    seeds: Iterator[int | None],
    update: Callable[[int], None],
) -> list[Estimated]:
    """About the noise of each; those for which draws find none are left out."""
    found: list[Estimated] = []
    per_column: dict[object, float] = {}
    for number, (candidate, plan) in enumerate(tried):
        update(number)
        longest = float(plan.strategy.column_norms.max())
        guess = per_column.get(plan.sampling)
        about = quick_estimate(
            plan,
            epsilon=epsilon,
            delta=delta,
            start=None if guess is None else guess * longest,
            draws=VERIFICATION.draws,
            seed=next(seeds),
        )
        if about is None:
            continue
        per_column[plan.sampling] = about / longest
        error = about**2 * plan.strategy.mean_squared_error(run.workload)
        found.append(Estimated(candidate, plan, about, error))
    return found


def worth_verifying(estimated: Sequence[Estimated], *, least: float) -> list[Estimated]:
    """Close to the least error, or the best of a scheme with a factorization; best first.

    `least` is the least error that is proven.
    """
    best: dict[object, Estimated] = {}
    for one in sorted(estimated, key=lambda one: one.error):
        best.setdefault((one.plan.sampling.name, one.plan.strategy.name), one)
    limit = VERIFICATION.within * min([least, *(one.error for one in estimated)])
    chosen = [one for one in estimated if one.error <= limit or one in best.values()]
    return sorted(chosen, key=lambda one: one.error)


def verified(
    chosen: Sequence[Estimated],
    *,
    epsilon: float,
    delta: float,
    seeds: Iterator[int | None],
    update: Callable[[int, str], None],
) -> Iterator[tuple[Estimated, Calibration, float]]:
    """Each with its verified noise and the seconds that it took; all together are one choice."""
    for number, one in enumerate(chosen):
        update(number, "")
        start = time.perf_counter()
        progress = Execution(progress=partial(update, number))
        method = MonteCarlo(seed=next(seeds), execution=progress, choices=len(chosen))
        calibration = calibrate(
            one.plan, epsilon=epsilon, delta=delta, method=method, start=one.noise_multiplier
        )
        yield one, calibration, time.perf_counter() - start


def seeds_from(seed: int | None) -> Iterator[int | None]:
    """Seeds that have nothing to do with each other; always None without one to begin with."""
    number = 0
    while True:
        if seed is None:
            yield None
        else:
            words = np.random.SeedSequence(seed, spawn_key=(number,)).generate_state(2, np.uint64)
            yield int(words[0])
        number += 1
