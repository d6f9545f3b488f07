"""`hockeystick tradeoff`."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich import box
from rich.table import Table

from hockeystick.accounting import account
from hockeystick.cli import OUTPUT, QUESTION, gathered
from hockeystick.cli.answers import ALL
from hockeystick.cli.files import required_noise
from hockeystick.cli.options import AccountingOptions, Json, KnownNoise, PlanOptions
from hockeystick.cli.output import plan_text, print_json, stdout
from hockeystick.cli.plans import described, plan_from
from hockeystick.errors import InvalidParameter
from hockeystick.guarantee import Guarantee
from hockeystick.profile import DEFAULT_ACCURACY, Profile
from hockeystick.report import progress, upper_text
from hockeystick.report.figure import check_figure_file, save_figure

__all__ = ["Reading", "print_reading", "print_reading_json", "tradeoff"]


@dataclass(frozen=True)
class Reading:
    """What is shown: bounds on true positive rates, and the tightest mu without and with slack."""

    rates: list[float]
    powers: list[float]
    mu: float
    reason: str
    slack: float
    mu_with_slack: float
    seconds: float


def print_reading_json(
    plan: dict[str, Any],
    question: dict[str, Any],
    guarantee: Guarantee,
    reading: Reading,
    plot: Path | None,
) -> None:
    """One JSON object; an infinite mu is null."""
    result = {
        "method": guarantee.method,
        "kind": guarantee.kind,
        "attack": [
            {"false_positive_rate": rate, "true_positive_rate": power}
            for rate, power in zip(reading.rates, reading.powers, strict=True)
        ],
        "mu": reading.mu if math.isfinite(reading.mu) else None,
        "mu_reason": reading.reason,
        "mu_with_slack": reading.mu_with_slack if math.isfinite(reading.mu_with_slack) else None,
        "seconds": round(reading.seconds, 6),
    }
    content: dict[str, Any] = {
        "plan": plan,
        "question": {"quantity": "tradeoff", **question},
        "adjacency": guarantee.adjacency,
        "unit": guarantee.unit,
        "results": [result],
        "best": result,
    }
    if plot is not None:
        content["plot"] = str(plot)
    print_json(content)


def print_reading(
    plan: dict[str, Any],
    question: dict[str, Any],
    guarantee: Guarantee,
    reading: Reading,
    plot: Path | None,
) -> None:
    """A table of rates, the tightest mu and what the numbers are about."""
    console = stdout()
    console.print(plan_text(plan), style="bold")
    console.print(f"noise multiplier {question['noise_multiplier']:g}", style="bold")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for title in ("false positive rate", "true positive rate, at most", "times guessing"):
        table.add_column(title, justify="right")
    for rate, power in zip(reading.rates, reading.powers, strict=True):
        factor = upper_text(power / rate, 3) if rate > 0 else "-"
        table.add_row(f"{rate:g}", upper_text(power), factor)
    console.print(table, soft_wrap=False)
    if math.isfinite(reading.mu):
        console.print(f"tightest mu-GDP: mu {upper_text(reading.mu)} ({reading.reason})")
    else:
        console.print(f"tightest mu-GDP: none, because {reading.reason}")
    relaxed = reading.mu_with_slack
    text = upper_text(relaxed) if math.isfinite(relaxed) else "none"
    console.print(f"tightest mu up to a delta of {reading.slack:g}: {text}")
    console.print(f"method: {guarantee.method}; kind: {guarantee.kind}")
    console.print(
        f"adjacency: {guarantee.adjacency}; unit: {guarantee.unit}; "
        f"direction: {question['direction']}"
    )
    if plot is not None:
        console.print(f"plot written to {plot}")


# False positive rates of the table: what attacks are reported at, and rarer ones.
RATES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1)
# f is drawn from a polygon that is at most this far below it.
DRAWING_ACCURACY = 1e-3

FalsePositiveRate = Annotated[
    list[float] | None,
    typer.Option(
        help="Where the attack is read, in [0, 1]; may be given several times.",
        rich_help_panel=QUESTION,
    ),
]
Slack = Annotated[
    float,
    typer.Option(
        help="The second mu may be exceeded by this delta, in (0, 1).", rich_help_panel=QUESTION
    ),
]
Plot = Annotated[
    Path | None,
    typer.Option(
        help="Write f, its symmetrised form and the attack to a .png, .svg or .pdf file.",
        metavar="FILE",
        rich_help_panel=OUTPUT,
    ),
]


@gathered
def tradeoff(
    run: PlanOptions,
    *,
    accounting: AccountingOptions,
    noise_multiplier: KnownNoise = None,
    false_positive_rate: FalsePositiveRate = None,
    slack: Slack = 1e-6,
    plot: Plot = None,
    json: Json = False,
) -> None:
    """What a membership attack on a run can find: the trade-off function and its readings."""
    required_noise(noise_multiplier, run.mechanism)
    plan = plan_from(run)
    if accounting.method == ALL or accounting.by_draws:
        raise InvalidParameter("method", "auto or one method with a whole curve", accounting.method)
    if plot is not None:
        check_figure_file("plot", plot)
    described_plan = described(plan, run)
    with progress("Accounting ...") as update:
        guarantee = account(
            plan,
            noise_multiplier=noise_multiplier,
            method=accounting.method,
            direction=accounting.direction,
            accuracy=accounting.accuracy_or(DEFAULT_ACCURACY),
            budget=accounting.budget,
        )
        rates = false_positive_rate or list(RATES)
        reading = _read(guarantee, rates, slack, accounting.accuracy_or(DEFAULT_ACCURACY))
        if plot is not None:
            update("Drawing ...")
            noise = "" if noise_multiplier is None else f", noise multiplier {noise_multiplier:g}"
            title = f"{plan_text(described_plan)}{noise}"
            _draw(guarantee, plot, title=title, reading=reading)
    known = {} if noise_multiplier is None else {"noise_multiplier": noise_multiplier}
    question = {
        **known,
        "direction": accounting.direction,
        "slack": slack,
        **accounting.unusual(),
    }
    if json:
        print_reading_json(described_plan, question, guarantee, reading, plot)
    else:
        print_reading(described_plan, question, guarantee, reading, plot)


def _profiles(guarantee: Guarantee) -> list[Profile]:
    """The profile in each direction that the guarantee is about."""
    remove = guarantee.profile
    each = {"remove": remove, "add": remove.reverse()}
    return [each[direction] for direction in guarantee.directions]


def _read(guarantee: Guarantee, rates: list[float], slack: float, accuracy: float) -> Reading:
    """The worse direction everywhere."""
    from hockeystick.fdp import tightest_mu, true_positive_rate

    start = time.perf_counter()
    profiles = _profiles(guarantee)
    powers = [
        true_positive_rate(profile, false_positive_rate=rates, accuracy=accuracy)
        for profile in profiles
    ]
    plain = max((tightest_mu(profile) for profile in profiles), key=lambda found: found.mu)
    relaxed = max(tightest_mu(profile, slack=slack).mu for profile in profiles)
    return Reading(
        rates=rates,
        powers=np.max(powers, axis=0).tolist(),
        mu=plain.mu,
        reason=plain.reason,
        slack=slack,
        mu_with_slack=relaxed,
        seconds=time.perf_counter() - start,
    )


def _draw(guarantee: Guarantee, path: Path, *, title: str, reading: Reading) -> None:
    from hockeystick.fdp import from_profile, gdp
    from hockeystick.report.figure import tradeoff_figure

    curve = from_profile(_profiles(guarantee)[0], accuracy=DRAWING_ACCURACY)
    mu = reading.mu_with_slack
    figure = tradeoff_figure(
        curve,
        title=title,
        both_directions=len(guarantee.directions) > 1,
        gaussian=gdp(mu) if math.isfinite(mu) else None,
        gaussian_label=f"Gaussian, μ = {upper_text(mu, 3)} (up to δ = {reading.slack:g})",
    )
    save_figure(figure, path)
