"""`hockeystick audit` and `hockeystick check`: second opinions on runs, from what was recorded.

`audit` tests from a run's canaries whether it did what its plan says; `check` computes again what
another library recorded.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from hockeystick.audit import AuditReport
from hockeystick.audit import check as check_run
from hockeystick.cli import QUESTION, gathered
from hockeystick.cli.options import Json, PlanOptions
from hockeystick.cli.output import print_json
from hockeystick.cli.plans import described, plan_from
from hockeystick.errors import InvalidParameter
from hockeystick.interop import SecondOpinion, check_file
from hockeystick.report import lower_text, upper_text
from hockeystick.report.figure import audit_figure, check_figure_file, save_figure

__all__ = [
    "audit",
    "check",
]


@gathered
def audit(
    run: PlanOptions,
    projections: Annotated[
        Path,
        typer.Option(
            help="A .npz file with `projections` (canaries by steps, in units of the clip norm) "
            "and `members` (booleans), as hs.audit.Recorder.save writes it.",
            metavar="FILE",
            rich_help_panel=QUESTION,
        ),
    ],
    noise_multiplier: Annotated[
        float,
        typer.Option(
            help="Planned standard deviation of the noise over the clip norm.",
            rich_help_panel=QUESTION,
        ),
    ],
    *,
    delta: Annotated[
        float | None,
        typer.Option(
            help="Also bound epsilon from below at this delta.",
            rich_help_panel=QUESTION,
            show_default=False,
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(help="A .png, .svg or .pdf file to write.", show_default=False),
    ] = None,
    json: Json = False,
) -> None:
    """Compare what a run released along its canaries with its plan.

    Exit status 1 if they are inconsistent.
    """
    if plot is not None:
        check_figure_file("plot", plot)
    plan = plan_from(run)
    rows, members = _read(projections)
    report = check_run(plan, noise_multiplier=noise_multiplier, projections=rows, members=members)
    bound = None if delta is None else _epsilon_lower(report, delta)
    if plot is not None:
        save_figure(audit_figure(report), plot)
    if json:
        found = {**report.describe(), "epsilon_lower": bound, "delta": delta}
        print_json({"plan": described(plan, run), **found})
    else:
        typer.echo(str(report))
        if bound is not None:
            typer.echo(f"epsilon >= {lower_text(bound)} at delta = {delta:g}, with confidence 95 %")
    if not report.consistent:
        raise typer.Exit(1)


def _epsilon_lower(report: AuditReport, delta: float) -> float:
    """In the plan's family; where the run does not belong to it, without assumptions."""
    try:
        return report.epsilon_lower(delta)
    except InvalidParameter:
        return report.epsilon_lower(delta, assuming="nothing")


def _read(file: Path) -> tuple[np.ndarray, np.ndarray]:
    try:
        with np.load(file, allow_pickle=False) as found:
            return found["projections"], found["members"]
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        allowed = "a .npz file with `projections` and `members`"
        raise InvalidParameter("projections", allowed, str(file)) from error


WORDS = {
    "too small": "too small: below the proven lower bound, so it is not a guarantee",
    "right": "right: between the proven bounds",
    "larger than needed": "safe, and larger than needed: above the proven upper bound",
}


def check(
    file: Annotated[
        Path,
        typer.Argument(
            help="A JSON file with `history`, triples [noise multiplier, sample rate, steps], or "
            "with the fields of a configuration of jax-privacy, and perhaps `epsilon` and `delta`; "
            "or a checkpoint of Opacus.",
            metavar="FILE",
            show_default=False,
        ),
    ],
    *,
    delta: Annotated[
        float | None, typer.Option(help="In the place of the file's.", show_default=False)
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option(help="The epsilon that was claimed.", show_default=False)
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Account a run that another library recorded, and judge the epsilon that it claimed.

    Exit status 1 if the claim is below the proven lower bound.
    """
    found = check_file(file, delta=delta, epsilon=epsilon)
    if json:
        print_json({**asdict(found), "verdict": found.verdict})
    else:
        _print(found)
    if found.verdict == "too small":
        raise typer.Exit(1)


def _print(found: SecondOpinion) -> None:
    typer.echo(
        f"{lower_text(found.lower)} <= epsilon <= {upper_text(found.upper)} "
        f"at delta = {found.delta:g}, as {found.library} recorded the run"
    )
    if found.verdict is not None and found.claimed is not None:
        typer.echo(f"claimed: {found.claimed:g}, {WORDS[found.verdict]}")
    typer.echo(found.caution)
