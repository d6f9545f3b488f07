"""The options of the commands, in groups."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from hockeystick.accounting import DEFAULT_BUDGET
from hockeystick.sampling import SCHEMES
from hockeystick.strategies import FACTORIZATIONS

__all__ = [
    "AccountingOptions",
    "Baselines",
    "Delta",
    "Epsilon",
    "Json",
    "NoiseMultiplier",
    "OutputOptions",
    "PlanOptions",
]

RUN, QUESTION, OUTPUT = "The run", "The question", "Output"

NoiseMultiplier = Annotated[
    float,
    typer.Option(
        help="Standard deviation of the noise over the clip norm.", rich_help_panel=QUESTION
    ),
]
Delta = Annotated[float, typer.Option(help="In (0, 1).", rich_help_panel=QUESTION)]
Epsilon = Annotated[float, typer.Option(help="Not negative.", rich_help_panel=QUESTION)]
Json = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON object instead.", rich_help_panel=OUTPUT),
]
Baselines = Annotated[
    bool,
    typer.Option(
        "--baselines",
        help="Also print what the run is compared with; no guarantees.",
        rich_help_panel=QUESTION,
    ),
]


@dataclass(frozen=True, kw_only=True)
class PlanOptions:
    """What is run. A parameter of a scheme or a strategy is the option of the same name."""

    sampling: Annotated[
        str,
        typer.Option(
            help=f"How batches are drawn: {', '.join(SCHEMES)}.",
            metavar="SCHEME",
            rich_help_panel=RUN,
        ),
    ]
    steps: Annotated[int, typer.Option(help="Number of updates.", rich_help_panel=RUN)]
    rate: Annotated[
        float | None,
        typer.Option(help="Probability that an example joins a batch.", rich_help_panel=RUN),
    ] = None
    max_participations: Annotated[
        int | None,
        typer.Option(help="Poisson: an example stops after that many.", rich_help_panel=RUN),
    ] = None
    groups: Annotated[
        int | None, typer.Option(help="Groups that take turns.", rich_help_panel=RUN)
    ] = None
    bins: Annotated[
        int | None, typer.Option(help="Bins, of which each example draws one.", rich_help_panel=RUN)
    ] = None
    picks: Annotated[
        int | None, typer.Option(help="Steps an example joins in each block.", rich_help_panel=RUN)
    ] = None
    out_of: Annotated[
        int | None, typer.Option(help="Number of steps in a block.", rich_help_panel=RUN)
    ] = None
    truncate: Annotated[
        bool, typer.Option("--truncate", help="Allow a partial last block.", rich_help_panel=RUN)
    ] = False
    batch_size: Annotated[
        float | None,
        typer.Option(
            help="Expected batch size, with --examples: finds the rate.", rich_help_panel=RUN
        ),
    ] = None
    examples: Annotated[
        int | None, typer.Option(help="Number of examples in the data.", rich_help_panel=RUN)
    ] = None
    strategy: Annotated[
        str,
        typer.Option(
            help=f"How the noise is correlated: {', '.join(FACTORIZATIONS)}.",
            metavar="STRATEGY",
            rich_help_panel=RUN,
        ),
    ] = "identity"
    bands: Annotated[
        int | None, typer.Option(help="Bands of the strategy.", rich_help_panel=RUN)
    ] = None
    buffers: Annotated[
        int | None, typer.Option(help="Buffers of the strategy.", rich_help_panel=RUN)
    ] = None


@dataclass(frozen=True, kw_only=True)
class AccountingOptions:
    """How a plan is priced."""

    method: Annotated[
        str,
        typer.Option(
            help="auto (the tightest proven), all, or a method's name.", rich_help_panel=QUESTION
        ),
    ] = "auto"
    direction: Annotated[
        str, typer.Option(help="both, add or remove.", rich_help_panel=QUESTION)
    ] = "both"
    accuracy: Annotated[
        float | None,
        typer.Option(help="Relative distance of upper and lower bound.", rich_help_panel=QUESTION),
    ] = None

    budget: Annotated[
        float,
        typer.Option(
            help="Operations that a method may spend to become tighter.", rich_help_panel=QUESTION
        ),
    ] = DEFAULT_BUDGET

    def unusual(self) -> dict[str, float]:
        """What changes answers and is not at its default."""
        return {} if self.budget == DEFAULT_BUDGET else {"budget": self.budget}

    def accuracy_or(self, default: float) -> float:
        """The accuracy that was asked for, or the default."""
        return default if self.accuracy is None else self.accuracy


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """Where answers go."""

    json: Json = False
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Write epsilon against noise to a .png, .svg or .pdf file.",
            metavar="FILE",
            rich_help_panel=OUTPUT,
        ),
    ] = None
