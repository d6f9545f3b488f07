"""`hockeystick compare`: the search, and the table, the recommendation and how to run it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

from hockeystick.accounting.candidates import RunSize, candidates
from hockeystick.accounting.compare import Compared, compare_run
from hockeystick.accounting.verified_comparison import time_of_draws
from hockeystick.cli import DRAWS, OUTPUT, QUESTION, RUN, gathered
from hockeystick.cli.options import Delta, Epochs, Epsilon, Json, Steps
from hockeystick.cli.output import print_json, stdout
from hockeystick.cli.parameters import NOTHING_SAID, Optimizer, OptimizerOptions
from hockeystick.errors import InvalidParameter
from hockeystick.guarantee import ADJACENCY
from hockeystick.report import (
    COLUMNS,
    StatusLine,
    cells,
    count_text,
    parameters_text,
    progress,
    result_row,
    scheme_of,
    strategy_text,
    upper_text,
)
from hockeystick.report.comparison_report import comparison_report
from hockeystick.report.figure import check_figure_file, save_figure
from hockeystick.report.page import check_page_file, report_figure, write_page
from hockeystick.report.recommendation import Recommendation, recommended
from hockeystick.report.reproduction import OptimizerSetting

__all__ = ["compare", "print_comparison", "print_comparison_json", "result_line"]

# Wider than any row.
WIDEST = 400


def result_line(one: Compared) -> str:
    """A result as it comes."""
    inside = parameters_text(one)
    setting = f"{scheme_of(one)}, {strategy_text(one)}{f' ({inside})' if inside else ''}"
    noise, error = upper_text(one.calibration.noise_multiplier), upper_text(one.mean_squared_error)
    kind = "" if one.answer.kind == "proven" else f", {one.answer.kind}"
    return f"{setting}: noise multiplier {noise}, mse {error}{kind}, {one.seconds:.1f} s"


def print_comparison_json(
    rows: Sequence[Compared], advice: Recommendation, asked: dict[str, Any], files: dict[str, Path]
) -> None:
    """One object: all results, the best, and the recommendation with its code."""
    results = [result_row(one, advice.data) for one in rows]
    content = {**asked, "adjacency": ADJACENCY, "unit": advice.best.calibration.guarantee.unit}
    content |= {"results": results, "best": results[0], "recommendation": advice.as_object()}
    print_json(content | {name: str(path) for name, path in files.items()})


def print_comparison(
    found: Sequence[Compared], advice: Recommendation, title: str, written: Mapping[str, Path]
) -> None:
    """The table, which row to use and why, the next command and the script."""
    console = stdout()
    console.print(title, style="bold")
    _print_table(console, found, advice)
    _print_advice(console, found, advice)
    for name, path in written.items():
        console.print(f"{'report' if name == 'html' else name} written to {path}")


def _print_table(console: Console, found: Sequence[Compared], advice: Recommendation) -> None:
    """One line for each row in a pipe; on a terminal parameters are wrapped where they must."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for title, number in COLUMNS:
        justify = "right" if number else "left"
        table.add_column(title, justify=justify, no_wrap=title != "parameters")  # type: ignore[arg-type]
    if several := len({one.answer.kind for one in found}) > 1:
        table.add_column("kind")
    for place, one in enumerate(found):
        kind = [one.answer.kind] if several else []
        style = "bold green" if place == 0 else None
        table.add_row(*cells(one, advice.baseline), *kind, style=style)
    if not console.is_terminal:
        options = console.options.update(max_width=WIDEST)
        console.width = max(console.width, Measurement.get(console, options, table).maximum)
    console.print(table, soft_wrap=False)


def _print_advice(console: Console, found: Sequence[Compared], advice: Recommendation) -> None:
    noise = upper_text(advice.best.calibration.noise_multiplier)
    text = f"use this: {advice.setting}, noise multiplier {noise}: {advice.gain}."
    console.print(text, style="bold")
    console.print(advice.caveat)
    guarantee = advice.best.calibration.guarantee
    kinds = ", ".join(dict.fromkeys(one.answer.kind for one in found))
    console.print(
        f"Noise multipliers of different strategies are not comparable; kind: {kinds}; adjacency: "
        f"{guarantee.adjacency}; unit: {guarantee.unit}; direction: both"
    )
    console.print("\nnext:", style="bold")
    console.print(advice.command)
    console.print("\nin Python, to the end:", style="bold")
    console.print(advice.python)


@dataclass(frozen=True, kw_only=True)
class ComparisonOptions:
    """The run that is compared."""

    examples: Annotated[int, typer.Option(help="Number of examples.", rich_help_panel=RUN)]
    batch_size: Annotated[float, typer.Option(help="Expected batch size.", rich_help_panel=RUN)]
    steps: Steps = None
    epochs: Epochs = None
    optimizer: Optimizer = "sgd"
    of_sgd: OptimizerOptions = NOTHING_SAID
    examples_per_user: Annotated[
        int | None,
        typer.Option(help="Protect users who have so many examples each.", rich_help_panel=RUN),
    ] = None

    def run_size(self) -> RunSize:
        """The run, with a schedule from a file read."""
        size = RunSize(
            examples=self.examples,
            batch_size=self.batch_size,
            steps=self.steps,  # type: ignore[arg-type]  # None with epochs
            epochs=self.epochs,
            momentum=self.of_sgd.momentum or 0.0,
            examples_per_user=self.examples_per_user,
            optimizer=self.optimizer,
        )
        rates = self.of_sgd.rates(steps=size.steps)
        return size if rates is None else replace(size, epochs=None, learning_rates=rates)

    @property
    def setting(self) -> OptimizerSetting:
        """The optimizer, as it was spelled."""
        return self.of_sgd.setting(self.optimizer)


@dataclass(frozen=True, kw_only=True)
class FileOptions:
    """Where the comparison is written to."""

    plot: Annotated[
        Path | None,
        typer.Option(
            help="Write the figures of the report to a .png, .svg or .pdf file.",
            metavar="FILE",
            rich_help_panel=OUTPUT,
        ),
    ] = None
    html: Annotated[
        Path | None,
        typer.Option(
            help="Write an interactive report to one .html file that works offline.",
            metavar="FILE",
            rich_help_panel=OUTPUT,
        ),
    ] = None

    def check(self) -> None:
        """Before anything is computed."""
        if self.plot is not None:
            check_figure_file("plot", self.plot)
        if self.html is not None:
            check_page_file("html", self.html)

    def write(
        self,
        found: Sequence[Compared],
        advice: Recommendation,
        *,
        batch_size: float,
        title: str,
        update: StatusLine,
    ) -> dict[str, Path]:
        """Whatever was asked for; the files by their options."""
        written = {"plot": self.plot, "html": self.html}
        if any(written.values()):
            report = comparison_report(
                found,
                examples=advice.examples,
                batch_size=batch_size,
                recommendation=advice,
                update=update,
            )
            if self.plot is not None:
                save_figure(report_figure(report, title=title), self.plot)
            if self.html is not None:
                write_page(report, self.html)
        return {name: path for name, path in written.items() if path is not None}


@gathered
def compare(
    options: ComparisonOptions,
    *,
    epsilon: Epsilon,
    delta: Delta,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="Only what is accounted for in seconds: closed forms and convolutions.",
            rich_help_panel=QUESTION,
        ),
    ] = False,
    verify: Annotated[
        bool,
        typer.Option(
            "--verify",
            help="Verify by draws what is estimated to have the least error.",
            rich_help_panel=QUESTION,
        ),
    ] = False,
    seed: Annotated[
        int | None, typer.Option(help="Makes the draws reproducible.", rich_help_panel=DRAWS)
    ] = None,
    schemes: Annotated[
        str | None,
        typer.Option(
            help="Only these, separated by commas.", metavar="NAMES", rich_help_panel=QUESTION
        ),
    ] = None,
    files: FileOptions,
    json: Json = False,
) -> None:
    """Schemes, strategies and bands for one run, the smallest error first: which one to use."""
    files.check()
    run = options.run_size()
    names = None if schemes is None else [one.strip() for one in schemes.split(",")]
    if seed is not None and not verify:
        raise InvalidParameter("seed", "left out unless draws are made (--verify)", seed)
    tried = candidates(run, schemes=names, quick=quick, verify=verify)
    question: dict[str, Any] = {"epsilon": epsilon, "delta": delta}
    title = _title(run, options.setting)
    with progress("Accounting ...") as update:
        if verify:
            update.line(time_of_draws(tried))
        found = compare_run(
            run,
            tried,
            **question,
            verify=verify,
            seed=seed,
            update=update,
            found=lambda one: update.line(result_line(one)),
        )
        advice = recommended(
            found,
            examples=run.examples,
            optimizer=options.setting,
            examples_per_user=run.examples_per_user,
            baseline=None if any(one.baseline for one in found) else _baseline(run, question),
        )
        written = files.write(
            found, advice, batch_size=run.batch_size, title=f"{title}, δ = {delta:g}", update=update
        )
    if json:
        asked = {"plan": _described(run, options), "question": question}
        print_comparison_json(found, advice, asked, written)
    else:
        print_comparison(found, advice, f"{title}, epsilon {epsilon:g}, delta {delta:g}", written)


def _baseline(run: RunSize, question: dict[str, Any]) -> Compared | None:
    """Plain DP-SGD, where it is not among the schemes that were asked for."""
    plain = [one for one in candidates(run) if one.baseline]
    return next(iter(compare_run(run, plain, **question)), None)


def _title(run: RunSize, optimizer: OptimizerSetting) -> str:
    users = run.examples_per_user
    of_users = [] if users is None else [f"{count_text(users)} for each user"]
    size = f"batch size {run.batch_size:g}", f"{count_text(run.steps)} steps"
    named = [] if optimizer.is_plain else [str(optimizer)]
    return ", ".join([f"{count_text(run.examples)} examples", *of_users, *size, *named])


def _described(run: RunSize, options: ComparisonOptions) -> dict[str, Any]:
    """The run as plain values; what was left out is not there."""
    given = {
        "epochs": options.epochs,
        "optimizer": None if run.linear else options.optimizer,
        **options.of_sgd.given(),
        "examples_per_user": options.examples_per_user,
    }
    size = {"examples": run.examples, "batch_size": run.batch_size, "steps": run.steps}
    return size | {name: value for name, value in given.items() if value is not None}
