"""`hockeystick epsilon`, `delta` and `calibrate`: noise to guarantee, and guarantee to noise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hockeystick.accounting import account
from hockeystick.accounting.calibrate import calibrate as find_noise
from hockeystick.accounting.calibrate import draws_to_calibrate
from hockeystick.cli import gathered
from hockeystick.cli.answers import BaselineQuestion, MethodAnswer, answer_of
from hockeystick.cli.files import required_noise
from hockeystick.cli.options import (
    AccountingOptions,
    Baselines,
    Delta,
    DrawOptions,
    DryRun,
    Epsilon,
    KnownNoise,
    OutputOptions,
    PlanOptions,
)
from hockeystick.cli.parameters import RiskTargets, WantedDelta, WantedEpsilon
from hockeystick.cli.plans import described, plan_from
from hockeystick.cli.question import Question, Spot, show_draw_plans
from hockeystick.errors import HockeystickError, InvalidParameter
from hockeystick.plan import Plan
from hockeystick.profile import DEFAULT_ACCURACY
from hockeystick.report import Update, progress, upper_text

__all__ = [
    "answer_with_known_noise",
    "calibrate",
    "delta",
    "epsilon",
]


def answer_with_known_noise(
    run: PlanOptions,
    accounting: AccountingOptions,
    drawing: DrawOptions,
    output: OutputOptions,
    *,
    noise_multiplier: float | None,
    epsilon: float | None = None,
    delta: float | None = None,
    baselines: bool = False,
) -> None:
    """Account for the plan, for the one of epsilon and delta that is not given, and show it."""
    required_noise(noise_multiplier, run.mechanism)
    if noise_multiplier is None:
        _refuse_with_mechanism(output, baselines=baselines)
    plan = plan_from(run)
    accuracy = accounting.accuracy_or(DEFAULT_ACCURACY)
    point = {"epsilon": epsilon} if delta is None else {"delta": delta}
    given = {"noise_multiplier": noise_multiplier, **point, "accuracy": accuracy}
    given |= accounting.unusual()

    if not accounting.by_draws:
        drawing.refuse()

    def ask(method: str, update: Update) -> MethodAnswer:
        guarantee = account(
            plan,
            noise_multiplier=noise_multiplier,
            method=(
                drawing.monte_carlo(update, epsilon=epsilon) if accounting.by_draws else method
            ),
            direction=accounting.direction,
            accuracy=accuracy,
            budget=accounting.budget,
        )
        return answer_of(guarantee, method=accounting.method, epsilon=epsilon, delta=delta)

    def spot(best: MethodAnswer) -> Spot:
        found = best.answer.value
        assert noise_multiplier is not None
        return Spot(
            noise_multiplier,
            found if epsilon is None else epsilon,
            found if delta is None else delta,
        )

    comparison = None
    if baselines and noise_multiplier is not None:
        comparison = BaselineQuestion(
            noise_multiplier, accuracy, accounting.direction, epsilon=epsilon, delta=delta
        )
    Question(
        plan,
        "delta" if delta is None else "epsilon",
        given={name: value for name, value in given.items() if value is not None},
        ask=ask,
        spot=spot,
        comparison=comparison,
    ).answer(run, accounting, output)


def _refuse_with_mechanism(output: OutputOptions, *, baselines: bool) -> None:
    """Curves and comparisons are about the noise of a Gaussian mechanism."""
    if output.plot is not None:
        raise InvalidParameter("plot", "left out with a mechanism", str(output.plot))
    if baselines:
        raise InvalidParameter("baselines", "left out with a mechanism", baselines)


@gathered
def epsilon(
    run: PlanOptions,
    *,
    delta: Delta,
    noise_multiplier: KnownNoise = None,
    accounting: AccountingOptions,
    drawing: DrawOptions,
    output: OutputOptions,
    baselines: Baselines = False,
) -> None:
    """The epsilon of a run with known noise, at a given delta."""
    if accounting.by_draws:
        allowed = "another one here, because draws bound delta at an epsilon: hockeystick delta"
        raise InvalidParameter("method", allowed, accounting.method)
    answer_with_known_noise(
        run,
        accounting,
        drawing,
        output,
        noise_multiplier=noise_multiplier,
        delta=delta,
        baselines=baselines,
    )


@gathered
def delta(
    run: PlanOptions,
    *,
    epsilon: Epsilon,
    noise_multiplier: KnownNoise = None,
    accounting: AccountingOptions,
    drawing: DrawOptions,
    output: OutputOptions,
    baselines: Baselines = False,
) -> None:
    """The delta of a run with known noise, at a given epsilon."""
    answer_with_known_noise(
        run,
        accounting,
        drawing,
        output,
        noise_multiplier=noise_multiplier,
        epsilon=epsilon,
        baselines=baselines,
    )


@gathered
def calibrate(
    run: PlanOptions,
    *,
    epsilon: WantedEpsilon = None,
    delta: WantedDelta = None,
    targets: RiskTargets,
    accounting: AccountingOptions,
    drawing: DrawOptions,
    output: OutputOptions,
    dry_run: DryRun = False,
) -> None:
    """The noise multiplier that a run needs for a wanted (epsilon, delta), or a wanted risk."""
    plan = plan_from(run)
    accuracy = accounting.accuracy_or(DEFAULT_ACCURACY)
    if targets.given():
        if dry_run or accounting.by_draws:
            raise InvalidParameter("method", "an analysis where a risk is wanted", "monte-carlo")
        drawing.refuse()
        _calibrate_risk(plan, run, targets, accounting, output, epsilon=epsilon, delta=delta)
        return
    epsilon, delta = _required("epsilon", epsilon), _required("delta", delta)
    if not accounting.by_draws:
        drawing.refuse()
        if dry_run:
            raise InvalidParameter("dry_run", "left out unless draws are made (monte-carlo)", True)
    if dry_run:
        with progress("Pilot run ...") as update:
            plans = draws_to_calibrate(
                plan,
                epsilon=epsilon,
                delta=delta,
                direction=accounting.direction,
                budget=accounting.budget,
                method=drawing.monte_carlo(update),
            )
        show_draw_plans(described(plan, run), plans, delta=delta, json=output.json)
        return

    def ask(method: str, update: Update) -> MethodAnswer:
        found = find_noise(
            plan,
            epsilon=epsilon,
            delta=delta,
            method=drawing.monte_carlo(update) if accounting.by_draws else method,
            direction=accounting.direction,
            accuracy=accuracy,
            budget=accounting.budget,
        )
        reached = found.guarantee.answer(delta=delta)
        if accounting.direction == "both" and reached.kind == "verified":
            note = _of_statements(plan, found.noise_multiplier, delta, accuracy)
            reached = reached._replace(details={**reached.details, "note": note})
        return MethodAnswer(
            reached._replace(value=found.noise_multiplier, lower=None),
            found.guarantee,
            reached_epsilon=reached.value,
            evaluations=found.evaluations,
        )

    Question(
        plan,
        "noise_multiplier",
        given={
            "epsilon": epsilon,
            "delta": delta,
            "accuracy": accuracy,
            **accounting.unusual(),
        },
        ask=ask,
        spot=lambda best: Spot(best.answer.value, best.reached_epsilon or epsilon, delta),
    ).answer(run, accounting, output)


def _required(name: str, value: float | None) -> float:
    if value is None:
        raise InvalidParameter(name, "given, or a wanted risk such as --advantage", value)
    return value


def _calibrate_risk(
    plan: Plan,
    run: PlanOptions,
    targets: RiskTargets,
    accounting: AccountingOptions,
    output: OutputOptions,
    **point: float | None,
) -> None:
    """The noise for a wanted risk; the (epsilon, delta) that it implies is in the answer."""
    accuracy = accounting.accuracy_or(DEFAULT_ACCURACY)
    wanted: dict[str, Any] = {**targets.given(), **point}

    def ask(method: str, update: Update) -> MethodAnswer:
        update("Looking for the noise ...")
        found = find_noise(
            plan,
            **wanted,
            method=method,
            direction=accounting.direction,
            accuracy=accuracy,
            budget=accounting.budget,
        )
        reached = found.guarantee.answer(epsilon=found.epsilon)
        implied = {"implied_epsilon": found.epsilon, "implied_delta": found.delta}
        details = {**reached.details, **implied}
        return MethodAnswer(
            reached._replace(value=found.noise_multiplier, lower=None, details=details),
            found.guarantee,
            evaluations=found.evaluations,
        )

    def spot(best: MethodAnswer) -> Spot:
        facts: Mapping[str, Any] = best.answer.details
        return Spot(best.answer.value, facts["implied_epsilon"], facts["implied_delta"])

    given = {**targets.given(), "accuracy": accuracy, **accounting.unusual()}
    question = Question(plan, "noise_multiplier", given=given, ask=ask, spot=spot)
    question.answer(run, accounting, output)


def _of_statements(plan: Plan, noise_multiplier: float, delta: float, accuracy: float) -> str:
    """What a statement says that was not given the verified claim."""
    guarantee = account(plan, noise_multiplier=noise_multiplier, accuracy=accuracy)
    try:
        proven = f"the proven epsilon, {upper_text(guarantee.epsilon(delta))} at this noise"
    except HockeystickError:
        proven = "a proven epsilon, for which this noise may be too small"
    return (
        f"a statement has {proven}; it carries this claim with run.statement(guarantee=...), see "
        "`hockeystick docs training#what-a-check-cannot-see`"
    )
