"""`hockeystick filters`: how many steps each filter would allow."""

from __future__ import annotations

from typing import Annotated

import typer
from rich import box
from rich.table import Table

from hockeystick.cli import RUN
from hockeystick.cli.options import Delta, Epsilon, Json
from hockeystick.cli.output import print_json, stdout
from hockeystick.errors import InvalidParameter
from hockeystick.filters.comparison import AllowedSteps, allowed_steps
from hockeystick.report import count_text

__all__ = ["filters"]

WARNING = "asymptotic filters report too little and are no guarantee"

COUNTED = (
    "filters are counted in whole rounds; one step more, clipped to fit what is left, may follow"
)


def filters(
    *,
    epsilon: Epsilon,
    delta: Delta,
    expected: Annotated[
        list[str],
        typer.Option(
            metavar="RATE,NOISE,STEPS",
            help="Expected steps: probability that an example joins a step, standard deviation of "
            "the noise over the clip norm, number of steps; several are taken in proportion.",
            rich_help_panel=RUN,
        ),
    ],
    json: Json = False,
) -> None:
    """How many steps of an expected schedule each privacy filter would allow, side by side."""
    schedule = [_request(text) for text in expected]
    found = allowed_steps(epsilon=epsilon, delta=delta, expected=schedule)
    if json:
        print_json(
            {"filters": [one._asdict() for one in found], "counted": COUNTED, "warning": WARNING}
        )
        return
    told = "; ".join(
        f"{count_text(steps)} at rate {rate:g} with noise {noise:g}"
        for rate, noise, steps in schedule
    )
    console = stdout()
    console.print(
        f"steps within epsilon {epsilon:g} at delta {delta:g}, requested one at a time, in the "
        f"proportions of: {told}",
        style="bold",
    )
    console.print(_table(found), soft_wrap=False)
    for one in found:
        if one.steps is None:
            console.print(f"{one.filter}: {one.note}")
    console.print(COUNTED)
    console.print(f"warning: {WARNING}", style="bold yellow")


def _request(text: str) -> tuple[float, float, int]:
    """What `--expected` says."""
    try:
        rate, noise, steps = text.split(",")
        return float(rate), float(noise), int(steps)
    except ValueError:
        raise InvalidParameter("expected", "RATE,NOISE,STEPS such as 0.01,1.5,50", text) from None


def _table(found: list[AllowedSteps]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for title in ("filter", "kind", "steps", ""):
        table.add_column(title, justify="right" if title == "steps" else "left")
    for one in found:
        steps = "none" if one.steps is None else count_text(one.steps)
        table.add_row(one.filter, one.kind, steps, "" if one.steps is None else one.note)
    return table
