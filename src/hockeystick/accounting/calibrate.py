"""`calibrate`: the noise for a wanted guarantee."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hockeystick import _validate as check
from hockeystick.accounting import (
    DEFAULT_BUDGET,
    account,
    checked_method,
    refuse_unsupported,
    single_plan,
)
from hockeystick.accounting.noise_search import Calibration, Start, first_guess, noise_secant
from hockeystick.accounting.risk_targets import noise_for_risk, risk_target
from hockeystick.analyses import Method
from hockeystick.errors import InvalidParameter, PrecisionError, UnsupportedPlan
from hockeystick.guarantee import Guarantee
from hockeystick.montecarlo import MonteCarlo
from hockeystick.plan import Accountable, Plan, require_accountable
from hockeystick.profile import DEFAULT_ACCURACY

if TYPE_CHECKING:
    from hockeystick.montecarlo.verifier import DrawPlan

__all__ = ["Calibration", "calibrate", "draws_to_calibrate"]

# The search comes near the answer at a low accuracy and with a tenth of the budget; only the last
# few evaluations cost what the answer's accuracy costs.
COARSE_ACCURACY, COARSE_BUDGET = 0.02, 0.1
# The answer's epsilon is below the target by at most this, relatively; by the accuracy where that
# is coarser than the default, so that a quick search stays quick.
TOLERANCE = 1e-4


@check.known_names_only
def calibrate(
    plan: Accountable,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    method: str | MonteCarlo | Method = "auto",
    direction: str = "both",
    accuracy: float = DEFAULT_ACCURACY,
    budget: float = DEFAULT_BUDGET,
    start: float | None = None,
    advantage: float | None = None,
    true_positive_rate: float | None = None,
    false_positive_rate: float | None = None,
    bayes_risk: float | None = None,
    prior: float | None = None,
) -> Calibration:
    """The noise multiplier at which the plan is (epsilon, delta)-DP, rounded to the safe side.

    epsilon falls with the noise, nearly as a power of it over short distances, so a secant search
    on log epsilon against log noise takes a handful of evaluations, most of them at low accuracy.
    The answer meets the target as `account` with the same settings evaluates it, to the last digit;
    with the default ones so do statements and `hockeystick verify` (a statement takes another
    `accuracy` as well, and always the default budget). At the default accuracy it has
    at most about 0.1 % more noise than the bound needs.

    With `MonteCarlo`, candidates below the proven noise are tested by draws, the noisiest first
    [DongGanesh26, Algorithm 5]; the guarantee is of kind "verified".

    Parameters
    ----------
    plan
        The run: a `Plan`, or a `Sequence`, for which the common factor of the noise is found.
    epsilon, delta
        The target.
    method, direction, accuracy, budget
        As for `account`. On the way to the answer a part of the budget is spent.
    start
        A guess at the answer. A good one saves evaluations, a bad one costs some.
    advantage, true_positive_rate, false_positive_rate, bayes_risk, prior
        A target in the place of epsilon and delta: the largest advantage of membership inference,
        or true positive rate at a false positive rate, or the least Bayes risk at a prior.

    Returns
    -------
    Calibration
        With the noise multiplier and its guarantee. The smallest noise of the search, 1e-3, is
        returned if even that meets the target.

    Raises
    ------
    CalibrationError
        If no noise multiplier up to 1e7 meets the target.

    Examples
    --------
    >>> import hockeystick as hs
    >>> plan = hs.Plan(sampling=hs.FullBatch(), steps=4)
    >>> round(hs.calibrate(plan, epsilon=1.0, delta=1e-5).noise_multiplier, 2)
    7.46
    """
    risk = risk_target(
        advantage=advantage,
        true_positive_rate=true_positive_rate,
        false_positive_rate=false_positive_rate,
        bayes_risk=bayes_risk,
        prior=prior,
    )
    if risk is not None and (epsilon, delta) != (None, None):
        raise InvalidParameter("epsilon, delta", "None beside another target", (epsilon, delta))
    epsilon, delta = (epsilon, delta) if risk is None else risk.guess
    target = _checked_target(plan, epsilon, delta, direction, budget)
    accuracy = check.relative_accuracy("accuracy", accuracy)
    first = None if start is None else check.positive("start", start)
    method = checked_method(method)
    if risk is not None:
        return noise_for_risk(
            risk, target.run, method=method, direction=direction, accuracy=accuracy, start=first
        )
    if isinstance(method, MonteCarlo):
        return _verified(target, method, first)
    return _searched(target, method, accuracy, first)


def draws_to_calibrate(
    plan: Plan,
    *,
    epsilon: float,
    delta: float,
    method: MonteCarlo,
    direction: str = "both",
    budget: float = DEFAULT_BUDGET,
) -> list[DrawPlan]:
    """What `calibrate` would draw with the same arguments, noisiest first; only pilots are run."""
    from hockeystick.montecarlo.calibration import planned_tests

    target = _checked_target(plan, epsilon, delta, direction, budget)
    return planned_tests(
        plan,
        epsilon=target.epsilon,
        delta=target.delta,
        direction=direction,
        proven=_proven_noise(target),
        settings=_for_calibration(method),
    )


@dataclass(frozen=True)
class _Target:
    """The wanted guarantee, and what an evaluation may spend."""

    run: Accountable
    epsilon: float
    delta: float
    direction: str
    budget: float


def _checked_target(
    run: Accountable, epsilon: float | None, delta: float | None, direction: str, budget: float
) -> _Target:
    """`UnsupportedPlan` if there is no noise to find."""
    require_accountable(run)
    target = _Target(
        run,
        check.wanted_epsilon("epsilon", epsilon),
        check.small_probability("delta", delta),
        direction,
        check.positive("budget", budget),
    )
    for plan, _ in run.parts:
        if plan.mechanism is not None:
            raise UnsupportedPlan(
                "A plan with a mechanism of its own has no noise multiplier to calibrate; leave "
                "mechanism=None for the Gaussian mechanism, or ask account(plan) what this one "
                "guarantees.",
                page="docs/how-to-choose.md#a-method",
            )
        refuse_unsupported(plan)
    return target


def _searched(
    target: _Target, method: str | Method, accuracy: float, start: float | None
) -> Calibration:
    """By a secant search: near the answer at low accuracy, then at the wanted one."""
    evaluations = _Evaluations(target, method)
    if start is None:
        coarse = max(COARSE_ACCURACY, accuracy)
        near = noise_secant(
            lambda noise: evaluations.epsilon(noise, coarse, COARSE_BUDGET * target.budget),
            target.epsilon,
            start=first_guess(target.run, epsilon=target.epsilon, delta=target.delta),
            tolerance=2 * coarse,
        )
    else:
        near = Start(start)
    found = noise_secant(
        lambda noise: evaluations.epsilon(noise, accuracy, target.budget),
        target.epsilon,
        start=near,
        tolerance=TOLERANCE if accuracy <= DEFAULT_ACCURACY else accuracy,
    )
    assert evaluations.met is not None
    return Calibration(
        found.noise, evaluations.met, target.epsilon, target.delta, evaluations.count
    )


class _Evaluations:
    """Accounts the plan at one noise after another.

    `met` is the last guarantee that met the target, with what was computed for it.
    """

    def __init__(self, target: _Target, method: str | Method) -> None:
        self._target, self._method = target, method
        self.count = 0
        self.met: Guarantee | None = None

    def epsilon(self, noise: float, accuracy: float, budget: float) -> float:
        """epsilon at the noise; infinite where the guarantee has no answer."""
        self.count += 1
        guarantee = account(
            self._target.run,
            noise_multiplier=noise,
            method=self._method,
            direction=self._target.direction,
            accuracy=accuracy,
            budget=budget,
        )
        try:
            epsilon = guarantee.epsilon(self._target.delta)
        except PrecisionError:
            # Without an answer it cannot be the noise that is returned.
            return math.inf
        if epsilon <= self._target.epsilon:
            self.met = guarantee
        return epsilon


def _verified(target: _Target, settings: MonteCarlo, start: float | None) -> Calibration:
    """By tests of candidates below the proven noise."""
    from hockeystick.montecarlo.calibration import verified_noise

    found = verified_noise(
        single_plan(target.run),
        epsilon=target.epsilon,
        delta=target.delta,
        direction=target.direction,
        proven=_proven_noise(target),
        settings=_for_calibration(settings),
        start=start,
    )
    return Calibration(
        found.noise_multiplier, found.guarantee, target.epsilon, target.delta, found.tested
    )


def _for_calibration(settings: MonteCarlo) -> MonteCarlo:
    """What only `account` uses is not silently ignored."""
    usual = MonteCarlo()
    for name in ("epsilon", "failure_probability"):
        given, default = getattr(settings, name), getattr(usual, name)
        if given != default:
            raise InvalidParameter(name, f"left at {default} in the method of calibrate", given)
    return settings


def _proven_noise(target: _Target) -> Callable[[float], float]:
    """A noise that needs no test, for the delta that remains: candidates lie below it."""
    return lambda delta: (
        calibrate(
            target.run,
            epsilon=target.epsilon,
            delta=delta,
            direction=target.direction,
            accuracy=COARSE_ACCURACY,
            budget=COARSE_BUDGET * target.budget,
        ).noise_multiplier
    )
