"""`hockeystick calibrate`."""

from __future__ import annotations

from hockeystick.accounting.account import account
from hockeystick.accounting.calibrate import calibrate as find_noise
from hockeystick.accounting.calibrate import draws_to_calibrate
from hockeystick.cli.answers import MethodAnswer
from hockeystick.cli.gather import gathered
from hockeystick.cli.options import (
    AccountingOptions,
    Delta,
    DrawOptions,
    DryRun,
    Epsilon,
    OutputOptions,
    PlanOptions,
)
from hockeystick.cli.plans import described, plan_from
from hockeystick.cli.question import Question, Spot, show_draw_plans
from hockeystick.errors import HockeystickError, InvalidParameter
from hockeystick.plan import Plan
from hockeystick.profile import DEFAULT_ACCURACY
from hockeystick.report.progress import Update, progress, upper_text

__all__ = ["calibrate"]


@gathered
def calibrate(
    run: PlanOptions,
    *,
    epsilon: Epsilon,
    delta: Delta,
    accounting: AccountingOptions,
    drawing: DrawOptions,
    output: OutputOptions,
    dry_run: DryRun = False,
) -> None:
    """The noise multiplier that a run needs for a wanted (epsilon, delta)."""
    plan = plan_from(run)
    accuracy = accounting.accuracy_or(DEFAULT_ACCURACY)
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
