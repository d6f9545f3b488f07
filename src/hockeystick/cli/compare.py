"""`hockeystick compare`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from hockeystick.accounting.candidates import RunSize, candidates
from hockeystick.accounting.compare import Compared, compare_run, time_of_draws
from hockeystick.cli.comparison_output import (
    print_comparison,
    print_comparison_json,
    result_line,
)
from hockeystick.cli.gather import gathered
from hockeystick.cli.options import (
    DRAWS,
    OUTPUT,
    QUESTION,
    Delta,
    Epochs,
    Epsilon,
    Json,
    Steps,
)
from hockeystick.cli.parameters import NOTHING_SAID, RUN, Optimizer, OptimizerOptions
from hockeystick.errors import InvalidParameter
from hockeystick.report.comparison_report import comparison_report
from hockeystick.report.figure import check_figure_file, save_figure
from hockeystick.report.page import check_page_file, write_page
from hockeystick.report.recommendation import Recommendation, recommended
from hockeystick.report.report_figure import report_figure
from hockeystick.report.reproduction import OptimizerSetting
from hockeystick.report.text import StatusLine, count_text, progress

__all__ = ["compare"]


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
        text = f"{title}, epsilon {epsilon:g}, delta {delta:g}"
        print_comparison(found, advice, text, written)


def _baseline(run: RunSize, question: dict[str, Any]) -> Compared | None:
    """Plain DP-SGD, where it is not among the schemes that were asked for."""
    plain = [one for one in candidates(run) if one.baseline]
    return next(iter(compare_run(run, plain, **question)), None)


def _title(run: RunSize, optimizer: OptimizerSetting) -> str:
    parts = [f"{count_text(run.examples)} examples"]
    if run.examples_per_user is not None:
        parts.append(f"{count_text(run.examples_per_user)} for each user")
    parts += [f"batch size {run.batch_size:g}", f"{count_text(run.steps)} steps"]
    if not optimizer.is_plain:
        parts.append(str(optimizer))
    return ", ".join(parts)


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
