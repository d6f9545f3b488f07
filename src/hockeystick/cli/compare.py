"""`hockeystick compare`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.table import Table

from hockeystick.accounting.compare import Compared
from hockeystick.accounting.compare import compare as compare_all
from hockeystick.cli.options import OUTPUT, RUN, Delta, Epsilon, Json
from hockeystick.cli.output import print_json, stdout
from hockeystick.guarantee import ADJACENCY
from hockeystick.report.comparison_report import comparison_report
from hockeystick.report.figure import check_figure_file, save_figure
from hockeystick.report.numbers import count_text
from hockeystick.report.page import check_page_file, write_page
from hockeystick.report.progress import progress
from hockeystick.report.report_figure import report_figure
from hockeystick.report.result_rows import COLUMNS, cells, result_row

__all__ = ["compare"]

Plot = Annotated[
    Path | None,
    typer.Option(
        help="Write the figures of the report to a .png, .svg or .pdf file.",
        metavar="FILE",
        rich_help_panel=OUTPUT,
    ),
]
Html = Annotated[
    Path | None,
    typer.Option(
        help="Write an interactive report to one .html file that works offline.",
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
    html: Html = None,
    json: Json = False,
) -> None:
    """Schemes, strategies and bands for one run, the smallest error first."""
    if plot is not None:
        check_figure_file("plot", plot)
    if html is not None:
        check_page_file("html", html)
    run: dict[str, Any] = {"examples": examples, "batch_size": batch_size, "steps": steps}
    question: dict[str, Any] = {"epsilon": epsilon, "delta": delta}
    title = f"{count_text(examples)} examples, batch size {batch_size:g}, {count_text(steps)} steps"
    with progress("Accounting ...") as update:
        found = compare_all(**run, **question, update=update)
        if plot is not None or html is not None:
            report = comparison_report(
                found, examples=examples, batch_size=batch_size, update=update
            )
        if plot is not None:
            save_figure(report_figure(report, title=f"{title}, δ = {delta:g}"), plot)
        if html is not None:
            write_page(report, html)
    written = {"plot": plot, "html": html}
    if json:
        results = [result_row(one, examples) for one in found]
        content: dict[str, Any] = {"plan": run, "question": question, "adjacency": ADJACENCY}
        files = {name: str(path) for name, path in written.items() if path is not None}
        print_json({**content, "results": results, "best": results[0], **files})
        return
    console = stdout()
    console.print(f"{title}, epsilon {epsilon:g}, delta {delta:g}", style="bold")
    console.print(_table(found), soft_wrap=False)
    console.print(
        "mse: mean squared error of the noise in the prefix sums at clip norm 1. Noise multipliers "
        "of different strategies are not comparable."
    )
    console.print(f"adjacency: {ADJACENCY}; unit: example; direction: both")
    for name, path in written.items():
        if path is not None:
            console.print(f"{'report' if name == 'html' else name} written to {path}")


def _table(found: Sequence[Compared]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for title, number in COLUMNS:
        table.add_column(title, justify="right" if number else "left", no_wrap=True)
    for place, one in enumerate(found):
        table.add_row(*cells(one), style="bold green" if place == 0 else None)
    return table
