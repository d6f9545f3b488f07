"""`hockeystick compare`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.table import Table

from hockeystick.cli.json_output import print_json
from hockeystick.cli.options import OUTPUT, RUN, Delta, Epsilon, Json
from hockeystick.cli.table import stdout
from hockeystick.comparison import Compared
from hockeystick.comparison import compare as compare_all
from hockeystick.guarantee import ADJACENCY
from hockeystick.report.error_curve import error_curves, family_of, scheme_of
from hockeystick.report.error_figure import error_figure
from hockeystick.report.figure import check_figure_file, save_figure
from hockeystick.report.numbers import count_text, upper_text
from hockeystick.report.progress import Update, progress

__all__ = ["compare"]

Plot = Annotated[
    Path | None,
    typer.Option(
        help="Write error against epsilon to a .png, .svg or .pdf file.",
        metavar="FILE",
        rich_help_panel=OUTPUT,
    ),
]
Examples = Annotated[int, typer.Option(help="Number of examples.", rich_help_panel=RUN)]
BatchSize = Annotated[float, typer.Option(help="Expected batch size.", rich_help_panel=RUN)]
Steps = Annotated[int, typer.Option(help="Number of updates.", rich_help_panel=RUN)]


def compare(
    *,
    examples: Examples,
    batch_size: BatchSize,
    steps: Steps,
    epsilon: Epsilon,
    delta: Delta,
    plot: Plot = None,
    json: Json = False,
) -> None:
    """Schemes, strategies and bands for one run, the smallest error first."""
    if plot is not None:
        check_figure_file("plot", plot)
    run = {"examples": examples, "batch_size": batch_size, "steps": steps}
    question = {"epsilon": epsilon, "delta": delta}
    title = f"{count_text(examples)} examples, batch size {batch_size:g}, {count_text(steps)} steps"
    with progress("Pricing ...") as update:
        found = compare_all(
            examples=examples,
            batch_size=batch_size,
            steps=steps,
            epsilon=epsilon,
            delta=delta,
            update=update,
        )
        if plot is not None:
            _draw(found, plot, title=f"{title}, δ = {delta:g}", update=update)
    if json:
        results = [_result(one, examples) for one in found]
        content: dict[str, Any] = {"plan": run, "question": question, "adjacency": ADJACENCY}
        print_json({**content, "results": results, "best": results[0]})
        return
    console = stdout()
    console.print(f"{title}, epsilon {epsilon:g}, delta {delta:g}", style="bold")
    console.print(_table(found), soft_wrap=False)
    console.print(
        "mse: mean squared error of the noise in the prefix sums at clip norm 1. Noise multipliers "
        "of different strategies are not comparable."
    )
    console.print(f"adjacency: {ADJACENCY}; unit: example; direction: both")
    if plot is not None:
        console.print(f"plot written to {plot}")


def _draw(found: Sequence[Compared], plot: Path, *, title: str, update: Update) -> None:
    """Families in the order of the table; each has its dot at its best member."""
    curves = error_curves(found, update=update)
    best = {family_of(one): one.mean_squared_error for one in reversed(found)}
    marks = [best[curve.label] for curve in curves]
    target = found[0].calibration.epsilon
    save_figure(error_figure(curves, target=target, marks=marks, title=title), plot)


def _table(found: Sequence[Compared]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for title in ("scheme", "strategy", "bands", "noise\nmultiplier", "mse", "kind", "seconds"):
        left = title in ("scheme", "strategy", "kind")
        table.add_column(title, justify="left" if left else "right", no_wrap=True)
    for place, one in enumerate(found):
        table.add_row(
            scheme_of(one),
            _strategy(one),
            str(one.plan.strategy.parameters.get("bands", "")),
            upper_text(one.calibration.noise_multiplier),
            upper_text(one.mean_squared_error),
            one.answer.kind,
            f"{one.seconds:.2f}",
            style="bold green" if place == 0 else None,
        )
    return table


def _strategy(one: Compared) -> str:
    strategy = one.plan.strategy
    buffers = strategy.parameters.get("buffers")
    return strategy.name if buffers is None else f"{strategy.name} ({buffers} buffers)"


def _result(one: Compared, examples: int) -> dict[str, Any]:
    return {
        **one.plan.describe(),
        "expected_batch_size": one.plan.sampling.expected_batch_size(examples),
        "method": one.answer.method,
        "kind": one.answer.kind,
        "noise_multiplier": one.calibration.noise_multiplier,
        "reached_epsilon": one.answer.value,
        "mse": one.mean_squared_error,
        "seconds": round(one.seconds, 6),
    }
