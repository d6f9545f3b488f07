"""Finding the noise for a wanted guarantee."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hockeystick import _validate as check
from hockeystick.accounting.account import DEFAULT_BUDGET, account, checked_method
from hockeystick.accounting.first_noise import start_of_search
from hockeystick.accounting.secant import Start, noise_secant
from hockeystick.analyses.method import MONTE_CARLO
from hockeystick.analyses.refusals import refusal
from hockeystick.errors import InvalidParameter, PrecisionError, UnsupportedPlan
from hockeystick.guarantee import Guarantee
from hockeystick.plan import Plan, require_plan

if TYPE_CHECKING:
    from hockeystick.montecarlo.drafts import DrawPlan
    from hockeystick.montecarlo.execution import Execution

__all__ = ["Calibration", "calibrate", "draft"]

# The search walks to the neighbourhood at low accuracy and finishes at high accuracy.
COARSE_ACCURACY, FINE_ACCURACY = 0.02, 2e-4
# The share of the budget for each evaluation on the way.
COARSE_BUDGET = 0.1
# epsilon of the answer is within this relative distance below the target, or the accuracy.
TOLERANCE = 2e-4


@dataclass(frozen=True)
class Calibration:
    """The smallest noise found to meet the target, with its guarantee.

    `guarantee.epsilon(delta)` is at most the wanted epsilon. `evaluations` counts how often a
    guarantee was priced on the way.
    """

    noise_multiplier: float
    guarantee: Guarantee
    epsilon: float
    delta: float
    evaluations: int


def calibrate(
    plan: Plan,
    *,
    epsilon: float,
    delta: float,
    method: str = "auto",
    direction: str = "both",
    accuracy: float = FINE_ACCURACY,
    budget: float = DEFAULT_BUDGET,
    start: float | None = None,
    draws: int | None = None,
    seed: int | None = None,
    execution: Execution | None = None,
) -> Calibration:
    """The noise multiplier at which the plan is (epsilon, delta)-DP, rounded to the safe side.

    epsilon falls with the noise, nearly as a power of it over short distances, so a secant search
    on log epsilon against log noise takes a handful of evaluations, most of them at low accuracy.
    The answer meets the target with the proven upper bound and, at the default accuracy, wastes at
    most about 0.1 % of noise. `CalibrationError` if no noise multiplier between 1e-3 and 1e7 meets
    the target; the smallest of the range is returned if even that does. `budget` is that of
    `account`; the walk to the neighbourhood spends a part of it. `start` is a guess at the answer:
    a good one saves evaluations, a bad one costs some.

    The method "monte-carlo" verifies candidates by about `draws` draws of the run, from the
    noisiest down (montecarlo/verified_noise.py); its guarantee is of kind "verified". By default
    there are 100/delta; with far fewer the answer is the proven noise. `seed` and `execution` are
    those of `verify`.
    """
    require_plan(plan)
    target = check.wanted_epsilon("epsilon", epsilon)
    delta = check.small_probability("delta", delta)
    accuracy = check.relative_accuracy("accuracy", accuracy)
    budget = check.positive("budget", budget)
    if plan.mechanism is not None:
        raise UnsupportedPlan(
            "A plan with a mechanism of its own has no noise multiplier to calibrate; "
            "leave mechanism=None for the Gaussian mechanism."
        )
    reason = refusal(plan, None)
    if reason is not None:
        raise UnsupportedPlan(reason)
    if checked_method(method) == MONTE_CARLO:
        from hockeystick.montecarlo.verified_noise import verified_noise

        found = verified_noise(
            plan,
            epsilon=target,
            delta=delta,
            direction=direction,
            proven=_proven_noise(plan, target, direction, budget),
            draws=draws,
            start=start,
            seed=seed,
            execution=execution,
        )
        return Calibration(found.noise_multiplier, found.guarantee, target, delta, found.tested)
    for name, value in {"draws": draws, "seed": seed, "execution": execution}.items():
        if value is not None:
            raise InvalidParameter(name, f"None unless method='{MONTE_CARLO}'", value)
    evaluations = 0
    # The last one that held, with what was computed for it.
    held: Guarantee | None = None

    def guarantee_at(noise: float, at_accuracy: float, within: float) -> Guarantee:
        return account(
            plan,
            noise_multiplier=noise,
            method=method,
            direction=direction,
            accuracy=at_accuracy,
            budget=within,
        )

    def price(noise: float, at_accuracy: float, within: float) -> float:
        nonlocal evaluations, held
        evaluations += 1
        guarantee = guarantee_at(noise, at_accuracy, within)
        try:
            epsilon = guarantee.epsilon(delta)
        except PrecisionError:
            # A noise for which the guarantee has no answer cannot be the one that is returned.
            return math.inf
        held = guarantee if epsilon <= target else held
        return epsilon

    if start is None:
        coarse = max(COARSE_ACCURACY, accuracy)
        part = COARSE_BUDGET * budget
        begin = start_of_search(plan, epsilon=target, delta=delta)
        near = noise_secant(
            lambda s: price(s, coarse, part), target, start=begin, tolerance=2 * coarse
        )
    else:
        near = Start(check.positive("start", start))
    tolerance = max(TOLERANCE, accuracy)
    settled = noise_secant(
        lambda s: price(s, accuracy, budget), target, start=near, tolerance=tolerance
    )
    assert held is not None
    return Calibration(settled.noise, held, target, delta, evaluations)


def draft(
    plan: Plan,
    *,
    epsilon: float,
    delta: float,
    direction: str = "both",
    budget: float = DEFAULT_BUDGET,
    draws: int | None = None,
    seed: int | None = None,
    execution: Execution | None = None,
) -> list[DrawPlan]:
    """What `calibrate(method="monte-carlo")` would draw with the same arguments; pilots only."""
    from hockeystick.montecarlo.verified_noise import draft_noise

    target = check.wanted_epsilon("epsilon", epsilon)
    return draft_noise(
        plan,
        epsilon=target,
        delta=delta,
        direction=direction,
        proven=_proven_noise(plan, target, direction, budget),
        draws=draws,
        seed=seed,
        execution=execution,
    )


def _proven_noise(
    plan: Plan, epsilon: float, direction: str, budget: float
) -> Callable[[float], float]:
    """A noise that needs no test, for the delta that remains: where the search for less starts."""
    return lambda delta: (
        calibrate(
            plan,
            epsilon=epsilon,
            delta=delta,
            direction=direction,
            accuracy=COARSE_ACCURACY,
            budget=COARSE_BUDGET * budget,
        ).noise_multiplier
    )
