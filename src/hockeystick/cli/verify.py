"""`hockeystick verify`."""

from __future__ import annotations

from typing import Any

from hockeystick.cli.draw_plans import show_draw_plans
from hockeystick.cli.gather import gathered
from hockeystick.cli.options import (
    AccountingOptions,
    Delta,
    DrawOptions,
    DryRun,
    Epsilon,
    Json,
    NoiseMultiplier,
    OutputOptions,
    PlanOptions,
)
from hockeystick.cli.plans import described, plan_from
from hockeystick.cli.plotting import Spot
from hockeystick.cli.pricing import Priced
from hockeystick.cli.question import Question
from hockeystick.cli.statement import or_statement
from hockeystick.montecarlo.settings import MonteCarlo
from hockeystick.montecarlo.verify import draws_to_verify
from hockeystick.montecarlo.verify import verify as check_claim
from hockeystick.report.progress import Update, progress

__all__ = ["verify"]


@or_statement
@gathered
def verify(
    run: PlanOptions,
    noise_multiplier: NoiseMultiplier,
    epsilon: Epsilon,
    delta: Delta,
    drawing: DrawOptions,
    *,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Test the claim that a run is (epsilon, delta)-DP by draws; run it only if it is accepted.

    The run, its noise, epsilon and delta are required, unless a privacy statement is given as a
    file: then its number is recomputed, and the exit status is 1 if it does not hold.
    """
    plan = plan_from(run)
    claim: dict[str, Any] = {
        "noise_multiplier": noise_multiplier,
        "epsilon": epsilon,
        "delta": delta,
    }
    if dry_run:
        with progress("Pilot run ...") as update:
            execution = drawing.execution(update)
            draft = draws_to_verify(plan, **claim, seed=drawing.seed, execution=execution)
        show_draw_plans(described(plan, run), [draft], delta=delta, json=json)
        return

    def ask(_method: str, update: Update) -> Priced:
        execution = drawing.execution(update)
        guarantee = check_claim(
            plan, **claim, draws=drawing.draws, seed=drawing.seed, execution=execution
        )
        return Priced(guarantee.answer(delta=delta), guarantee)

    Question(
        plan,
        "epsilon",
        given={"noise_multiplier": noise_multiplier, "delta": delta},
        ask=ask,
        spot=lambda best: Spot(noise_multiplier, epsilon, delta),
    ).answer(run, AccountingOptions(method=MonteCarlo.name), OutputOptions(json=json))
