"""`hockeystick epsilon`."""

from __future__ import annotations

from hockeystick.accounting import account
from hockeystick.cli.gather import gathered
from hockeystick.cli.options import (
    AccountingOptions,
    Delta,
    NoiseMultiplier,
    OutputOptions,
    PlanOptions,
)
from hockeystick.cli.plans import plan_from
from hockeystick.cli.plotting import Spot
from hockeystick.cli.pricing import Priced, answered
from hockeystick.cli.question import Question
from hockeystick.profile import DEFAULT_ACCURACY

__all__ = ["epsilon"]


@gathered
def epsilon(
    run: PlanOptions,
    noise_multiplier: NoiseMultiplier,
    delta: Delta,
    accounting: AccountingOptions,
    output: OutputOptions,
) -> None:
    """The epsilon of a run with known noise, at a given delta."""
    plan = plan_from(run)
    accuracy = accounting.accuracy_or(DEFAULT_ACCURACY)

    def ask(method: str) -> Priced:
        guarantee = account(
            plan,
            noise_multiplier=noise_multiplier,
            method=method,
            direction=accounting.direction,
            accuracy=accuracy,
        )
        return answered(guarantee, method=accounting.method, delta=delta)

    Question(
        plan,
        "epsilon",
        given={"noise_multiplier": noise_multiplier, "delta": delta, "accuracy": accuracy},
        ask=ask,
        spot=lambda best: Spot(noise_multiplier, best.answer.value, delta),
    ).answer(run, accounting, output)
