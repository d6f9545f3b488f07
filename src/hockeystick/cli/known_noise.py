"""`hockeystick epsilon` and `hockeystick delta`: a run whose noise is known."""

from __future__ import annotations

from hockeystick.accounting.account import account
from hockeystick.cli.answers import BaselineQuestion, MethodAnswer, answer_of
from hockeystick.cli.files import required_noise
from hockeystick.cli.gather import gathered
from hockeystick.cli.options import (
    AccountingOptions,
    Baselines,
    Delta,
    DrawOptions,
    Epsilon,
    KnownNoise,
    OutputOptions,
    PlanOptions,
)
from hockeystick.cli.plans import plan_from
from hockeystick.cli.question import Question, Spot
from hockeystick.errors import InvalidParameter
from hockeystick.profile import DEFAULT_ACCURACY
from hockeystick.report.progress import Update

__all__ = ["answer_with_known_noise", "delta", "epsilon"]


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
