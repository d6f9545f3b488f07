"""The options of the commands, in groups."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import cached_property
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any

import typer

from hockeystick.accounting import DEFAULT_BUDGET
from hockeystick.accounting.candidates import steps_for
from hockeystick.cli import DRAWS, OUTPUT, QUESTION, RUN, spelled_out
from hockeystick.cli.files import read_attribution
from hockeystick.cli.parameters import NOTHING_SAID, OptimizerOptions, Risk, further_options
from hockeystick.errors import InvalidParameter
from hockeystick.montecarlo import Execution, MonteCarlo
from hockeystick.report import Update
from hockeystick.schemes import SCHEMES, Attribution
from hockeystick.strategies import FACTORIZATIONS

__all__ = [
    "AccountingOptions",
    "Baselines",
    "Delta",
    "DrawOptions",
    "DryRun",
    "Epochs",
    "Epsilon",
    "Json",
    "KnownNoise",
    "NoiseMultiplier",
    "OutputOptions",
    "PlanOptions",
    "Steps",
]

NoiseMultiplier = Annotated[
    float,
    typer.Option(
        help="Standard deviation of the noise over the clip norm.", rich_help_panel=QUESTION
    ),
]
KnownNoise = Annotated[
    float | None,
    typer.Option(
        help="Standard deviation of the noise over the clip norm; or --mechanism.",
        rich_help_panel=QUESTION,
    ),
]
Delta = Annotated[float, typer.Option(help="In (0, 1).", rich_help_panel=QUESTION)]
Epsilon = Annotated[float, typer.Option(help="Not negative.", rich_help_panel=QUESTION)]
Steps = Annotated[
    int | None, typer.Option(help="Number of updates; or --epochs.", rich_help_panel=RUN)
]
Epochs = Annotated[
    float | None,
    typer.Option(
        help="Passes over the data in the place of --steps, with --examples and --batch-size.",
        rich_help_panel=RUN,
    ),
]
Json = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON object instead.", rich_help_panel=OUTPUT),
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Only say how many draws verification takes, how long, and what it buys.",
        rich_help_panel=DRAWS,
    ),
]
Baselines = Annotated[
    bool,
    typer.Option(
        "--baselines",
        help="Also print what the run is compared with; no guarantees.",
        rich_help_panel=QUESTION,
    ),
]


def _further_options() -> list[Parameter]:
    """Parameters of schemes and strategies that `PlanOptions` does not spell out."""
    return further_options([one.name for one in spelled_out(PlanOptions)], panel=RUN)


@dataclass(frozen=True, kw_only=True)
class PlanOptions:
    """What is run. A parameter of a scheme or a strategy is the option of the same name.

    Most of them are read from the schemes and strategies that are registered.
    """

    sampling: Annotated[
        str,
        typer.Option(
            help=f"How batches are drawn: {', '.join(SCHEMES)}.",
            metavar="SCHEME",
            rich_help_panel=RUN,
        ),
    ]
    steps: Steps = None
    epochs: Epochs = None
    batch_size: Annotated[
        float | None,
        typer.Option(
            help="Expected batch size, with --examples: finds the rate.", rich_help_panel=RUN
        ),
    ] = None
    examples: Annotated[
        int | None, typer.Option(help="Number of examples in the data.", rich_help_panel=RUN)
    ] = None
    attribution: Annotated[
        Path | None,
        typer.Option(
            help="Whose the examples are: an .npz file with the integer arrays examples and users, "
            "a pair for each. Without it every example is a user of its own.",
            metavar="FILE",
            rich_help_panel=RUN,
        ),
    ] = None
    strategy: Annotated[
        str,
        typer.Option(
            help=f"How the noise is correlated: {', '.join(FACTORIZATIONS)}.",
            metavar="STRATEGY",
            rich_help_panel=RUN,
        ),
    ] = "identity"
    coefficients: Annotated[
        Path | None,
        typer.Option(
            help="A Toeplitz strategy of your own: a file with its coefficients, .npy or text.",
            metavar="FILE",
            rich_help_panel=RUN,
        ),
    ] = None
    matrix: Annotated[
        Path | None,
        typer.Option(
            help="Any strategy of your own: a file with the matrix C, .npy or text.",
            metavar="FILE",
            rich_help_panel=RUN,
        ),
    ] = None
    mechanism: Annotated[
        str | None,
        typer.Option(
            help="What a step releases, if it is no Gaussian mechanism: laplace:SCALE, "
            "discrete-gaussian:NOISE, zcdp:RHO, randomized-response:EPSILON, epsilon-delta:E:D.",
            metavar="NAME:NUMBER",
            rich_help_panel=RUN,
        ),
    ] = None
    adjacency: Annotated[
        str,
        typer.Option(
            help="Whom the number protects: an example that is there or not (add-remove), or one "
            "that is replaced by another (replace-one).",
            metavar="RELATION",
            rich_help_panel=RUN,
        ),
    ] = "add-remove"
    optimizer: OptimizerOptions = NOTHING_SAID
    further: dict[str, Any] = field(default_factory=dict, metadata={"spread": _further_options})
    """The parameters of schemes and strategies, by name."""

    @cached_property
    def updates(self) -> int:
        """The number of steps, given or found from the epochs; exactly one of the two."""
        if (self.steps is None) == (self.epochs is None):
            allowed = "given, or --epochs with --examples and --batch-size, and not both"
            raise InvalidParameter("steps", allowed, self.steps)
        if self.epochs is None:
            assert self.steps is not None
            return self.steps
        count = self.data.examples if isinstance(self.data, Attribution) else self.data
        if count is None or self.batch_size is None:
            allowed = "given with --examples and --batch-size, from which the steps are found"
            raise InvalidParameter("epochs", allowed, self.epochs)
        return steps_for(epochs=self.epochs, examples=count, batch_size=self.batch_size)

    @cached_property
    def data(self) -> int | Attribution | None:
        """The number of examples, or the graph of examples and users, if either is given."""
        if self.attribution is None:
            return self.examples
        return read_attribution(self.attribution, examples=self.examples)


@dataclass(frozen=True, kw_only=True)
class AccountingOptions:
    """How a plan is accounted."""

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

    @property
    def by_draws(self) -> bool:
        """Whether the method is Monte Carlo, to which alone the options of draws belong."""
        return self.method == MonteCarlo.name

    def unusual(self) -> dict[str, float]:
        """What changes answers and is not at its default."""
        return {} if self.budget == DEFAULT_BUDGET else {"budget": self.budget}

    def accuracy_or(self, default: float) -> float:
        """The accuracy that was asked for, or the default."""
        return default if self.accuracy is None else self.accuracy


@dataclass(frozen=True, kw_only=True)
class DrawOptions:
    """How the method monte-carlo draws."""

    draws: Annotated[
        int | None, typer.Option(help="How many draws may be made.", rich_help_panel=DRAWS)
    ] = None
    seed: Annotated[
        int | None, typer.Option(help="Makes the draws reproducible.", rich_help_panel=DRAWS)
    ] = None
    workers: Annotated[
        int | None, typer.Option(help="Cores to use; all by default.", rich_help_panel=DRAWS)
    ] = None
    scheduler: Annotated[
        str | None,
        typer.Option(help="Draw on a Dask cluster: tcp://host:port.", rich_help_panel=DRAWS),
    ] = None
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="A file from which an interrupted command goes on.",
            metavar="FILE",
            rich_help_panel=DRAWS,
        ),
    ] = None

    def execution(self, update: Update) -> Execution:
        """Who draws, and who is told how far it is; Ctrl-C leaves a checkpoint here."""
        return Execution(
            workers=self.workers,
            scheduler=self.scheduler,
            checkpoint=self.checkpoint,
            rescue=Path.cwd(),
            progress=update,
        )

    def monte_carlo(self, update: Update, *, epsilon: float | None = None) -> MonteCarlo:
        """The method that `calibrate` and, with an epsilon, `account` take."""
        return MonteCarlo(
            draws=self.draws, epsilon=epsilon, seed=self.seed, execution=self.execution(update)
        )

    def refuse(self) -> None:
        """What only draws need is not silently ignored."""
        for name, value in asdict(self).items():
            if value is not None:
                raise InvalidParameter(name, "left out unless draws are made (monte-carlo)", value)


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """Where answers go."""

    json: Json = False
    risk: Risk = False
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Write epsilon against noise to a .png, .svg or .pdf file.",
            metavar="FILE",
            rich_help_panel=OUTPUT,
        ),
    ] = None
