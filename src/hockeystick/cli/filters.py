"""`hockeystick filters`: how many steps each filter would allow."""

from __future__ import annotations

from typing import Annotated

import typer
from rich import box
from rich.table import Table

from hockeystick.cli.options import RUN, Delta, Epsilon, Json
from hockeystick.cli.output import print_json, stdout
from hockeystick.filters.comparison import Allowance, allowances
from hockeystick.report.numbers import count_text

__all__ = ["filters"]

WARNING = "asymptotic filters report too little and are no guarantee"


def filters(
    *,
    epsilon: Epsilon,
    delta: Delta,
    rate: Annotated[
        float, typer.Option(help="Probability that an example joins a step.", rich_help_panel=RUN)
    ],
    noise_multiplier: Annotated[
        list[float],
        typer.Option(
            help="Standard deviation of the noise over the clip norm; several are used in turn.",
            rich_help_panel=RUN,
        ),
    ],
    block: Annotated[
        int, typer.Option(help="Equal steps that are asked for at once.", rich_help_panel=RUN)
    ] = 1,
    json: Json = False,
) -> None:
    """How many steps of an expected schedule each privacy filter would allow, side by side."""
    found = allowances(
        epsilon=epsilon, delta=delta, rate=rate, noise_multipliers=noise_multiplier, block=block
    )
    if json:
        print_json({"filters": [one._asdict() for one in found], "warning": WARNING})
        return
    noises = ", ".join(f"{noise:g}" for noise in noise_multiplier)
    console = stdout()
    console.print(
        f"steps at rate {rate:g} with noise {noises} in blocks of {count_text(block)}, within "
        f"epsilon {epsilon:g} at delta {delta:g}",
        style="bold",
    )
    console.print(_table(found), soft_wrap=False)
    for one in found:
        if one.steps is None:
            console.print(f"{one.filter}: {one.note}")
    console.print(f"warning: {WARNING}", style="bold yellow")


def _table(found: list[Allowance]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for title in ("filter", "kind", "steps", ""):
        table.add_column(title, justify="right" if title == "steps" else "left")
    for one in found:
        steps = "none" if one.steps is None else count_text(one.steps)
        table.add_row(one.filter, one.kind, steps, "" if one.steps is None else one.note)
    return table
