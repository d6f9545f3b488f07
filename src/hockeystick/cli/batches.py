"""`hockeystick batches`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from hockeystick._files import check_target
from hockeystick._version import __version__
from hockeystick.cli import OUTPUT, RUN, gathered
from hockeystick.cli.files import write_batches
from hockeystick.cli.options import Json, PlanOptions
from hockeystick.cli.output import json_text, plan_text, print_json, stdout
from hockeystick.cli.plans import described, plan_from
from hockeystick.errors import InvalidParameter
from hockeystick.report import Update, count_text, progress
from hockeystick.schemes import Indices

__all__ = ["batches"]


@gathered
def batches(
    run: PlanOptions,
    output: Annotated[
        Path,
        typer.Option(
            help="The .npz file to write: indices, offsets, plan.",
            metavar="FILE",
            rich_help_panel=OUTPUT,
        ),
    ],
    seed: Annotated[
        int | None,
        typer.Option(
            help="For reproducible batches; left out, the seed is random and secret.",
            rich_help_panel=RUN,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Draw the batches of a run, exactly as they are accounted, into a file."""
    if run.data is None:
        raise InvalidParameter("examples", "given for batches", None)
    if seed is not None and not seed >= 0:
        raise InvalidParameter("seed", "an integer >= 0", seed)
    plan = plan_from(run)
    about = {**described(plan, run), "seed": seed, "version": __version__}
    check_target("output", output)
    drawn = plan.batches(examples=run.data, rng=seed)
    with progress("Drawing batches ...") as update:
        sizes = write_batches(output, _counted(drawn, plan.steps, update), plan=json_text(about))
    summary = {
        "batches": int(sizes.size),
        "smallest": int(sizes.min()),
        "mean": float(np.mean(sizes)),
        "largest": int(sizes.max()),
        "output": str(output),
    }
    if json:
        print_json({"plan": about, **summary})
    else:
        _print_summary(about, summary)


def _counted(drawn: Iterable[Indices], steps: int, update: Update) -> Iterator[Indices]:
    """The same batches, with a word about them every hundredth of the run."""
    every = max(1, steps // 100)
    for step, batch in enumerate(drawn):
        if step % every == 0:
            update(f"Drawing batch {count_text(step + 1)} of {count_text(steps)} ...")
        yield batch


def _print_summary(about: dict[str, Any], summary: dict[str, Any]) -> None:
    console = stdout()
    console.print(plan_text(about), style="bold")
    console.print(
        f"{count_text(summary['batches'])} batches from {count_text(about['examples'])} examples: "
        f"smallest {summary['smallest']}, mean {summary['mean']:.6g}, "
        f"largest {summary['largest']}"
    )
    console.print(f"written to {summary['output']}")
