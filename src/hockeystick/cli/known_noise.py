"""What `epsilon` and `delta` share: a run whose noise is known."""

from __future__ import annotations

from hockeystick.accounting.account import account
from hockeystick.cli.options import AccountingOptions, DrawOptions, OutputOptions, PlanOptions
from hockeystick.cli.plans import plan_from
from hockeystick.cli.plotting import Spot
from hockeystick.cli.pricing import Priced, answered
from hockeystick.cli.question import Question
from hockeystick.cli.yardsticks import Yardsticks
from hockeystick.profile import DEFAULT_ACCURACY
from hockeystick.report.progress import Update

__all__ = ["answer_with_known_noise"]


def answer_with_known_noise(
    run: PlanOptions,
    accounting: AccountingOptions,
    drawing: DrawOptions,
    output: OutputOptions,
    *,
    noise_multiplier: float,
    epsilon: float | None = None,
    delta: float | None = None,
    baselines: bool = False,
) -> None:
    """Price the plan for the one of epsilon and delta that is not given, and show it."""
    plan = plan_from(run)
    accuracy = accounting.accuracy_or(DEFAULT_ACCURACY)
    point = {"epsilon": epsilon} if delta is None else {"delta": delta}
    given = {"noise_multiplier": noise_multiplier, **point, "accuracy": accuracy}
    given |= accounting.unusual()

    if not accounting.by_draws:
        drawing.refuse()

    def ask(method: str, update: Update) -> Priced:
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
        return answered(guarantee, method=accounting.method, epsilon=epsilon, delta=delta)

    def spot(best: Priced) -> Spot:
        found = best.answer.value
        return Spot(
            noise_multiplier,
            found if epsilon is None else epsilon,
            found if delta is None else delta,
        )

    yardsticks = Yardsticks(
        noise_multiplier, accuracy, accounting.direction, epsilon=epsilon, delta=delta
    )
    Question(
        plan,
        "delta" if delta is None else "epsilon",
        given={name: value for name, value in given.items() if value is not None},
        ask=ask,
        spot=spot,
        yardsticks=yardsticks if baselines else None,
    ).answer(run, accounting, output)
