"""`hockeystick calibrate`."""

from __future__ import annotations

from hockeystick.calibration import FINE_ACCURACY
from hockeystick.calibration import calibrate as find_noise
from hockeystick.cli.gather import gathered
from hockeystick.cli.options import AccountingOptions, Delta, Epsilon, OutputOptions, PlanOptions
from hockeystick.cli.plans import plan_from
from hockeystick.cli.plotting import Spot
from hockeystick.cli.pricing import Priced
from hockeystick.cli.question import Question

__all__ = ["calibrate"]


@gathered
def calibrate(
    run: PlanOptions,
    epsilon: Epsilon,
    delta: Delta,
    accounting: AccountingOptions,
    output: OutputOptions,
) -> None:
    """The noise multiplier that a run needs for a wanted (epsilon, delta)."""
    plan = plan_from(run)
    accuracy = accounting.accuracy_or(FINE_ACCURACY)

    def ask(method: str) -> Priced:
        found = find_noise(
            plan,
            epsilon=epsilon,
            delta=delta,
            method=method,
            direction=accounting.direction,
            accuracy=accuracy,
            budget=accounting.budget,
        )
        reached = found.guarantee.answer(delta=delta)
        return Priced(
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
