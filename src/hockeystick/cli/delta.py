"""`hockeystick delta`."""

from __future__ import annotations

from hockeystick.accounting import account
from hockeystick.cli.gather import gathered
from hockeystick.cli.options import (
    AccountingOptions,
    Epsilon,
    NoiseMultiplier,
    OutputOptions,
    PlanOptions,
)
from hockeystick.cli.plans import plan_from
from hockeystick.cli.plotting import Spot
from hockeystick.cli.pricing import Priced, answered
from hockeystick.cli.question import Question
from hockeystick.profile import DEFAULT_ACCURACY

__all__ = ["delta"]


@gathered
def delta(
    run: PlanOptions,
    noise_multiplier: NoiseMultiplier,
    epsilon: Epsilon,
    accounting: AccountingOptions,
    output: OutputOptions,
) -> None:
    """The delta of a run with known noise, at a given epsilon."""
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
        return answered(guarantee, method=accounting.method, epsilon=epsilon)

    Question(
        plan,
        "delta",
        given={"noise_multiplier": noise_multiplier, "epsilon": epsilon, "accuracy": accuracy},
        ask=ask,
        spot=lambda best: Spot(noise_multiplier, epsilon, best.answer.value),
    ).answer(run, accounting, output)
