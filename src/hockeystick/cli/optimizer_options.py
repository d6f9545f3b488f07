"""What the optimizer does, on the command line: its name, momentum, and learning rates."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import numpy.typing as npt
import typer

from hockeystick.cli.parameters import RUN
from hockeystick.errors import InvalidParameter
from hockeystick.report.reproduction import OptimizerSetting
from hockeystick.strategies.iterates import SCHEDULES, learning_rates

__all__ = ["NOTHING_SAID", "Optimizer", "OptimizerOptions"]

Momentum = Annotated[
    float | None,
    typer.Option(
        help="Heavy-ball momentum of SGD, for which strategies are optimised.", rich_help_panel=RUN
    ),
]
Optimizer = Annotated[
    str,
    typer.Option(
        help="sgd, or one that rescales gradients (adam, adamw, adagrad, rmsprop, other): what "
        "noise does to those has no formula, and only independent noise is compared.",
        rich_help_panel=RUN,
    ),
]
LearningRateSchedule = Annotated[
    str | None,
    typer.Option(
        help="Learning rates for which strategies are optimised: constant, cosine, linear, or a "
        "file with one number for each step.",
        metavar="NAME|FILE",
        rich_help_panel=RUN,
    ),
]


@dataclass(frozen=True, kw_only=True)
class OptimizerOptions:
    """What SGD does with the gradients, for which strategies are optimised."""

    momentum: Momentum = None
    learning_rate_schedule: LearningRateSchedule = None

    def given(self) -> dict[str, float | str]:
        """What is not left out."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def rates(self, *, steps: int) -> str | npt.NDArray[np.float64] | None:
        """The name of a schedule, the rates in the file, or None."""
        schedule = self.learning_rate_schedule
        return None if schedule is None else _rates_from(schedule, steps=steps)

    def setting(self, name: str = "sgd") -> OptimizerSetting:
        """The same with the optimizer's name, as they were spelled."""
        return OptimizerSetting(self.momentum or 0.0, self.learning_rate_schedule, name)


NOTHING_SAID = OptimizerOptions()


def _rates_from(schedule: str, *, steps: int) -> str | npt.NDArray[np.float64]:
    """The name of a schedule, or the rates in the file: text, or an .npy array."""
    if schedule in SCHEDULES:
        return schedule
    allowed = f"{', '.join(SCHEDULES)}, or a file with {steps} numbers >= 0 that are not all 0"
    path = Path(schedule)
    try:
        rates = np.load(path) if path.suffix == ".npy" else np.loadtxt(path, ndmin=1)
        return learning_rates(rates, steps=steps)
    except (OSError, EOFError, ValueError):
        raise InvalidParameter("learning_rate_schedule", allowed, schedule) from None
