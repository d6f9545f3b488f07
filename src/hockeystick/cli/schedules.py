"""Learning rates on the command line: a schedule by name, or a file with one rate for each step."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from hockeystick.errors import InvalidParameter
from hockeystick.strategies.iterates import SCHEDULES, learning_rates

__all__ = ["rates_from"]

OPTION = "learning_rate_schedule"


def rates_from(schedule: str, *, steps: int) -> str | npt.NDArray[np.float64]:
    """The name of a schedule, or the rates in the file: text, or an .npy array."""
    if schedule in SCHEDULES:
        return schedule
    allowed = f"{', '.join(SCHEDULES)}, or a file with {steps} numbers >= 0 that are not all 0"
    path = Path(schedule)
    try:
        rates = np.load(path) if path.suffix == ".npy" else np.loadtxt(path, ndmin=1)
        return learning_rates(rates, steps=steps)
    except (OSError, EOFError, ValueError):
        raise InvalidParameter(OPTION, allowed, schedule) from None
