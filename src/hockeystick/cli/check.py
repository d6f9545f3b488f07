"""`hockeystick check`: a second opinion on what another library recorded."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from hockeystick.cli.output import print_json
from hockeystick.interop.files import SecondOpinion, check_file
from hockeystick.report.progress import lower_text, upper_text

__all__ = ["check"]

WORDS = {
    "too small": "too small: below the proven lower bound, so it is not a guarantee",
    "right": "right: between the proven bounds",
    "larger than needed": "safe, and larger than needed: above the proven upper bound",
}


def check(
    file: Annotated[
        Path,
        typer.Argument(
            help="A JSON file with `history`, triples [noise multiplier, sample rate, steps], and "
            "perhaps `epsilon` and `delta`; or a checkpoint of Opacus.",
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
